export {
  type CallOptions,
  type HostCallOptions,
  type JoinCallOptions,
  openRoom,
  type OpenRoomOptions,
  type OwnerCallOptions,
  RoomClient,
  RoomhubClient,
  type RoomhubClientOptions,
} from "./client.ts";
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
export {
  InvalidHubUrlError,
  type Invite,
  keyInLink,
  normaliseHubUrl,
  parseInvite,
  pinIn,
  pinnedHostOf,
} from "./hub-url.ts";
export { pinnedFetch } from "./pinned-fetch.ts";
export { type HostProof, RoomHost } from "./room-host.ts";
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
  Key,
  ModelEntry,
  NewKey,
  ParticipantSummary,
  RequestSummary,
  Room,
  RouteExplanation,
} from "@roomhub/protocol";
