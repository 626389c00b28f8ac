export { createHub } from "./hub.ts";
export { DEFAULT_PORT } from "./options.ts";
export type { Hub, HubAddress } from "./hub-api.ts";
export type { ClusterDirectory } from "./cluster/directory.ts";
export { importRooms, type ImportedRoom } from "./cluster/import-rooms.ts";
export { NatsDirectory, type NatsDirectoryOptions } from "./cluster/nats/nats-directory.ts";
export type { Handout, HandoutFile } from "./http/handed-out.ts";
export type { HubOptions } from "./options.ts";
export type { CertificatePair } from "./http/tls-port.ts";
export type { LogFormat } from "./log.ts";
export type { OwnershipMode, RoomCreators } from "./operations/context.ts";
export {
  fileRoomStore,
  type FileRoomStore,
  type FileRoomStoreOptions,
} from "./storage/file-room-store.ts";
export { memoryRoomStore } from "./storage/room-store.ts";
export { readStateFile } from "./storage/file-room-store.ts";
export type { RoomStore, StoredRoom } from "./storage/room-store.ts";
export { lockFile, StateFileLockedError } from "./storage/file-lock.ts";
export { defaultStatePath } from "./storage/file-room-store.ts";
export { createFile, replaceFile } from "./storage/whole-file.ts";
