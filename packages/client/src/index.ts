export type { CallOptions, OwnerCallOptions } from "./call-options.ts";
export * from "./client.ts";
export type { Fetch } from "./connection.ts";
export {
  errorFromResponse,
  HubUnreachableError,
  isHubUnreachableError,
  isRoomhubError,
  RoomhubError,
  type RoomhubErrorCode,
  type RoomhubErrorDetails,
} from "./errors.ts";
export type { EventStreamOptions } from "./event-stream.ts";
export * from "./hub-url.ts";
export * from "./open-room.ts";
export { RoomClient } from "./room-client.ts";
export * from "./sdk-options.ts";
