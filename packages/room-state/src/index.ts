export {
  type BenchResult,
  type CanaryName,
  canaryNames,
  type CanaryVerdict,
  firstTokenMs,
  generationOf,
  type ParticipantResult,
  readBenchResult,
} from "./bench-result.ts";
export { binOf, type Distribution, percentile } from "./figures/distribution.ts";
export {
  type Bucket,
  BUCKET_MS,
  BUCKETS,
  OTHERS,
  type ParticipantFigures,
  type PersonUsage,
} from "./figures/buckets.ts";
export {
  type ParticipantPoint,
  participantSeries,
  type ParticipantSummaryFigures,
  participantFigures,
  type ParticipantSpeed,
  participantSpeeds,
  roomFigures,
  type RoomFigures,
  type SeriesPoint,
  series,
  usage,
} from "./figures/figures.ts";
export { type FollowOptions, followRoom, type Link } from "./follow-room.ts";
export { joinedText, leftText, offlineText } from "./log-text.ts";
export { backText, lostText, notBackText } from "./lost-connections.ts";
export type { LogLevel, LogLine } from "./log.ts";
export { contextText, featureWords, modelText, tokensText } from "./model-text.ts";
export { reduce } from "./reduce.ts";
export type { EndedRequest } from "./ended-requests.ts";
export type { RunningRequest } from "./running-requests.ts";
export { resync, type RoomLists } from "./resync.ts";
export type { RoomEvent } from "./reduce.ts";
export { type RoomSource, roomSource } from "./room-source.ts";
export {
  canReplaceStandIn,
  machineSlots,
  type MachineSlots,
  type Slots,
  slotsOf,
} from "./slots.ts";
export { plusTokens, type TokenSum, tokensOf, tokenText } from "./figures/token-sum.ts";
export { initialState, type RoomState } from "./state.ts";
export { isWatched, type WatchedTime } from "./watched.ts";
