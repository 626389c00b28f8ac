export * from "./client.ts";
export type { Fetch } from "./connection.ts";
export {
  errorFromResponse,
  HubUnreachableError,
  RoomhubError,
  type RoomhubErrorDetails,
} from "./errors.ts";
export type { EventStreamOptions } from "./event-stream.ts";
export * from "./hub-url.ts";
