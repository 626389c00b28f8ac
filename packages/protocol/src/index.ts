export { CapabilityValue, Capabilities } from "./capability.ts";
export { authHeaderProblem } from "./auth-headers.ts";
export { type CertificateProblem, certificateProblem } from "./certificate.ts";
export { ClientIdentity, isClientName, NAME_KEY_PREFIX } from "./client-identity.ts";
export { clientText } from "./client-text.ts";
export { editDistance } from "./edit-distance.ts";
export { checkEndpoint, serverRoot, urlBelow } from "./endpoint.ts";
export {
  ERROR_STATUS,
  ErrorBody,
  type ErrorCode,
  errorTypeOf,
  FAILURE_STAGES,
  type FailureStage,
  Refusal,
} from "./error.ts";
export {
  type ContextRefusal,
  promptTooLong,
  readContextRefusal,
  recognisableRefusal,
} from "./context-refusal.ts";
export {
  CompletePayload,
  DETAIL_PAYLOADS,
  EVENT_PAYLOADS,
  FailurePayload,
  FirstPayload,
  LeftPayload,
  Metrics,
  OfflinePayload,
  ProgressPayload,
  QueuedPayload,
  RequestPayload,
} from "./event-payload.ts";
export {
  DETAIL_EVENT_NAMES,
  type DetailEvent,
  type DetailEventName,
  type DetailPayloads,
  EVENT_NAMES,
  type EventName,
  type EventPayloads,
  type EventSpelling,
  type HubEvent,
  spellEventName,
} from "./event.ts";
export {
  forwardRequestHeaders,
  forwardResponseHeaders,
  MAY_TRUNCATE_HEADER,
  PRIORITY_HEADER,
  REQUIRE_HEADER,
  TOKEN_COUNT_HEADER,
  TRANSLATED_HEADER,
  SESSION_HEADERS,
} from "./forwarded-headers.ts";
export { GENERATED_CONTENT, hasGeneratedContent } from "./generated-content.ts";
export {
  Elsewhere,
  HOME_EPOCH_HEADER,
  HubEntry,
  HubList,
  PIPE_HEADER,
  UnreachableHub,
} from "./cluster.ts";
export { giveBack } from "./give-back.ts";
export { HealthResponse } from "./health.ts";
export {
  LIMIT_NAMES,
  limitEnvName,
  type LimitName,
  limitProblem,
  type Limits,
  LIMITS,
  resolveLimits,
} from "./limits.ts";
export {
  BlockedClient,
  type Ban,
  BansResponse,
  BlockedResponse,
  isKeyValue,
  Key,
  KEY_RIGHTS,
  KeyListResponse,
  KeyResponse,
  KeyRight,
  KickQuestion,
  NewKey,
  NewKeyResponse,
  RotateQuestion,
  USUAL_RIGHTS,
} from "./key.ts";
export { isObject, type JsonObject, parseJson, parseObject } from "./json-object.ts";
export { isLiveAndReady } from "./live-and-ready.ts";
export { AnthropicModel, AnthropicModelList, ModelEntry, ModelList } from "./model-list.ts";
export {
  ContextSource,
  Features,
  MeasuredFeatures,
  ModelContext,
  StructuredOutput,
} from "./model-facts.ts";
export { isSameModel, withoutLatest } from "./model-name.ts";
export { parseBody } from "./parse-body.ts";
export {
  isForOthers,
  isLoopbackHost,
  inviteUrl,
  curlLine,
  joinLine,
  pastedHub,
  type PastedHub,
  programLine,
  sdkLine,
  sealedUrl,
  shellWord,
} from "./pasted-lines.ts";
export {
  Budget,
  Connection,
  HEARTBEAT_INTERVAL_MS,
  HeartbeatResponse,
  JoinResponse,
  LimitSource,
  Liveness,
  Load,
  ParticipantConfig,
  participantIdProblem,
  ParticipantListResponse,
  ParticipantResponse,
  ParticipantStatus,
  ParticipantSummary,
  Specs,
  SuccessResponse,
  SurfaceMode,
  Warning,
} from "./participant.ts";
export { PAUSED_REASON, Readiness, readinessOfModelList } from "./readiness.ts";
export { durationInWords, type RateLimit, rateLimitHeaders } from "./rate-limit.ts";
export { rememberLast } from "./remember-last.ts";
export {
  type AliasRequest,
  createRequestSchemas,
  ignoredMembers,
  type CreateKeyRequest,
  type CreateRoomRequest,
  type JoinRequest,
  REQUEST_SCHEMAS,
  type RequestSchemas,
  type UpdateParticipantRequest,
  type UpdateRoomRequest,
} from "./request-schemas.ts";
export { RequestListResponse, RequestSummary } from "./request-summary.ts";
export { normaliseRoomCode, ROOM_CODE_ALPHABET, ROOM_CODE_LENGTH } from "./room-code.ts";
export {
  Alias,
  AliasListResponse,
  AliasResponse,
  CreateRoomResponse,
  Room,
  RoomListResponse,
  RoomResponse,
} from "./room.ts";
export { Roster, type RosterMember } from "./roster.ts";
export { type Sending, TurnEnd } from "./turn-end.ts";
export {
  RouteAlias,
  RouteCandidate,
  RouteExplanation,
  RouteExpectation,
  RouteQuestion,
  RouteVerdict,
} from "./route-explanation.ts";
export {
  createSseReader,
  encodeSseComment,
  encodeSseEvent,
  encodeSseRetry,
  type SseMessage,
  type SseReader,
} from "./sse.ts";
export { isRefusalOf, refusesStreamOptions } from "./stream-options.ts";
export {
  type ErrorShape,
  InferenceProtocol,
  type StreamMarker,
  RARE_CAPABILITIES,
  SURFACE_WORDS,
  type Surface,
  SURFACES,
  type SurfaceWord,
} from "./surface.ts";
export { escapeUnprintable, isDeeperThan, percentDecoded, printable, utf8Length } from "./text.ts";
export { BatchConsent } from "./batch-consent.ts";
export { type DailyHours, isInHours, parseHours } from "./daily-hours.ts";
export { type CountedResponse, estimatedTokens, isCharged, tokenCost } from "./token-cost.ts";
export {
  findUsage,
  mergeUsage,
  isDuration,
  readUsage,
  tokensPerSecond,
  type Usage,
} from "./usage.ts";
export { systemWorld } from "./system-world.ts";
export {
  pause,
  randomBelow,
  type Timer,
  type TimeSource,
  timeoutSignal,
  type World,
} from "./world.ts";
