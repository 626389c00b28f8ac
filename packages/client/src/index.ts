export type {
  CallOptions,
  HostCallOptions,
  JoinCallOptions,
  OwnerCallOptions,
} from "./call-options.ts";
export { RoomhubClient, type RoomhubClientOptions } from "./client.ts";
export { isLiveAndReady } from "@roomhub/protocol";
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
export type { DetailStreamOptions, EventStreamOptions } from "./event-stream.ts";
export { InvalidHubUrlError, type Invite, normaliseHubUrl, parseInvite } from "./hub-url.ts";
export { openRoom, type OpenRoomOptions } from "./open-room.ts";
export { RoomClient } from "./room-client.ts";
export {
  aiSDKOptions,
  type AISDKOptions,
  anthropicOptions,
  openAIOptions,
  type OpenResponsesOptions,
  openResponsesOptions,
  type RoomAddress,
  type SDKOptions,
} from "./sdk-options.ts";
export type {
  Alias,
  DetailEvent,
  HealthResponse,
  HubEvent,
  JoinRequest,
  JoinResponse,
  ModelEntry,
  ParticipantSummary,
  RequestSummary,
  Room,
  RouteExplanation,
} from "@roomhub/protocol";
