export { anthropicErrorBody } from "./anthropic-error.ts";
export { createHub } from "./hub.ts";
export type { PipeOutcome } from "./hop/exchange.ts";
export { type Onward, passingHeaders } from "./hop/heads.ts";
export { pipeUpgrade } from "./hop/pipe-upgrade.ts";
export { PipedRequest } from "./hop/pipe.ts";
export { HopPool } from "./hop/pool.ts";
export { FormScanner } from "./inference/request/form-scan.ts";
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
export { lockFile, lockHolder, StateFileLockedError } from "./storage/file-lock.ts";
export { defaultStatePath } from "./storage/file-room-store.ts";
export { createFile, readIfThere, replaceFile, syncDirectory } from "./storage/whole-file.ts";
