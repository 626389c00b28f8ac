import { z } from "zod";
import { ClientIdentity } from "./client-identity.ts";
import { InferenceProtocol } from "./surface.ts";

/** A request waits for a free participant. */
export const QueuedPayload = z.object({
  requestId: z.string(),
  /** the request's `model` field */
  selector: z.string(),
  /** as in the llm events */
  alias: z.string().optional(),
  protocol: InferenceProtocol,
  client: ClientIdentity,
  /** as in the llm events */
  conversation: z.string().optional(),
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

/** A stream goes on. */
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
