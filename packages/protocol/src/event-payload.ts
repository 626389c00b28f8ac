import { z } from "zod";
import { ClientIdentity } from "./client-identity.ts";
import { FAILURE_STAGES } from "./error.ts";
import { ParticipantSummary } from "./participant.ts";
import { Room } from "./room.ts";
import { InferenceProtocol } from "./surface.ts";

/** Interface §6, metrics: hub-observed; unknown values are absent, never 0 or null. */
export const Metrics = z.object({
  /** ms to the first generated content (stream) or the first body byte */
  ttftMs: z.number(),
  /** ms */
  durationMs: z.number(),
  inputTokens: z.int().min(0).optional(),
  outputTokens: z.int().min(0).optional(),
  totalTokens: z.int().min(0).optional(),
  /** of the prompt, from the provider's cache; part of `inputTokens` */
  cachedInputTokens: z.int().min(0).optional(),
  /** of sound that the provider reports to have transcribed */
  audioSeconds: z.number().optional(),
  /** pictures in the response */
  images: z.int().min(0).optional(),
  /** outputTokens per second of `durationMs` */
  tokensPerSecond: z.number().optional(),
});
export type Metrics = z.infer<typeof Metrics>;

const RoomPayload = z.object({ room: Room });

const ParticipantPayload = z.object({ participant: ParticipantSummary });

export const OfflinePayload = z.object({ participantId: z.string(), nickname: z.string() });
export type OfflinePayload = z.infer<typeof OfflinePayload>;

export const LeftPayload = z.object({
  ...OfflinePayload.shape,
  /**
   * `expired` after being offline, or probed without use, for too long; `key_ended` with the key that it joined with; absent
   * when it left by itself or was replaced
   */
  reason: z.string().optional(),
});
export type LeftPayload = z.infer<typeof LeftPayload>;

/** Of a request that others come before; absent for all others. Contract §3, "Batches". */
export const Priority = z.enum(["batch"]);

/** The pattern of the alias that the request's `model` field matches; absent when it matches none. Contract §3, "Aliases". */
const AliasPattern = z.string().optional();

/** Who sent a request, and how it is treated. */
const senderFields = {
  client: ClientIdentity,
  /**
   * The first 8 hex digits of the keyed hash of the session that a request names: the same for requests of one
   * conversation in one room, until the hub restarts; absent when it names none. Contract §3, "Conversations".
   */
  conversation: z.string().optional(),
  priority: Priority.optional(),
};

/** Of a request that a participant serves. */
const servedFields = {
  requestId: z.string(),
  participantId: z.string(),
  model: z.string(),
  protocol: InferenceProtocol,
  /** the request's `model` field */
  selector: z.string(),
  alias: AliasPattern,
  ...senderFields,
};

export const RequestPayload = z.object({
  ...servedFields,
  /** 1 to 3 */
  attempt: z.int(),
});
export type RequestPayload = z.infer<typeof RequestPayload>;

export const CompletePayload = z.object({
  ...servedFields,
  attempts: z.int(),
  /** ms spent waiting for a free participant */
  queueMs: z.number(),
  /** how often its participant's tunnel was interrupted and resumed while it ran; absent for never */
  resumes: z.int().min(1).optional(),
  metrics: Metrics,
});
export type CompletePayload = z.infer<typeof CompletePayload>;

export const FailurePayload = z.object({
  requestId: z.string(),
  participantId: z.string().nullable(),
  nickname: z.string().nullable(),
  endpoint: z.string().nullable(),
  model: z.string().nullable(),
  protocol: InferenceProtocol,
  stage: z.enum(FAILURE_STAGES),
  error: z.string(),
  code: z.string(),
  selector: z.string().nullable(),
  alias: AliasPattern,
  ...senderFields,
  attempts: z.int(),
  queueMs: z.number(),
});
export type FailurePayload = z.infer<typeof FailurePayload>;

/** The payload of each event by its dotted name. Contract §5. */
export const EVENT_PAYLOADS = {
  "room.created": RoomPayload,
  "participant.joined": ParticipantPayload,
  "participant.updated": ParticipantPayload,
  "participant.left": LeftPayload,
  "participant.offline": OfflinePayload,
  "llm.request": RequestPayload,
  "llm.complete": CompletePayload,
  "llm.error": FailurePayload,
};

/** A request waits for a free participant. */
export const QueuedPayload = z.object({
  requestId: z.string(),
  /** the request's `model` field */
  selector: z.string(),
  alias: AliasPattern,
  protocol: InferenceProtocol,
  ...senderFields,
  /** 1 is the next; by the order of turns at that moment */
  place: z.int().min(1),
});
export type QueuedPayload = z.infer<typeof QueuedPayload>;

/** The first generated content of a stream has passed, or the first body byte of another response. */
export const FirstPayload = z.object({
  requestId: z.string(),
  participantId: z.string(),
  /** ms, as in the metrics of the request's end */
  ttftMs: z.number(),
});
export type FirstPayload = z.infer<typeof FirstPayload>;

/** A stream produced more content. */
export const ProgressPayload = z.object({
  requestId: z.string(),
  /** events with generated content, which most model servers send one per token */
  outputTokens: z.int().min(1),
});
export type ProgressPayload = z.infer<typeof ProgressPayload>;

/** The payload of each event that only streams with detail have. Contract §5, "Detail". */
export const DETAIL_PAYLOADS = {
  "request.queued": QueuedPayload,
  "request.first": FirstPayload,
  "request.progress": ProgressPayload,
};
