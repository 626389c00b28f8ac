import { z } from "zod";
import { ClientIdentity } from "./client-identity.ts";
import { Priority } from "./event-payload.ts";
import { InferenceProtocol } from "./surface.ts";

/** A request that runs or waits now. Contract §5, "Detail". */
export const RequestSummary = z.object({
  requestId: z.string(),
  /** `queued`: it waits for a free participant; `streaming`: its first content, or first body byte, was relayed */
  state: z.enum(["queued", "running", "streaming"]),
  /** of a queued one: 1 is the next, by the order of turns now */
  place: z.int().min(1).optional(),
  /** absent while it waits */
  participantId: z.string().optional(),
  /** that participant's model */
  model: z.string().optional(),
  /** the request's `model` field */
  selector: z.string(),
  /** as in the llm events */
  alias: z.string().optional(),
  protocol: InferenceProtocol,
  client: ClientIdentity,
  /** as in the llm events */
  conversation: z.string().optional(),
  priority: Priority.optional(),
  /** made so far; 0 before the first */
  attempt: z.int().min(0),
  /** epoch ms */
  startedAt: z.number(),
  /** epoch ms; present when streaming */
  firstAt: z.number().optional(),
  /** as in `request.progress`; absent when nothing was counted */
  outputTokens: z.int().min(1).optional(),
});
export type RequestSummary = z.infer<typeof RequestSummary>;

/** Response to `GET …/requests`, the oldest first. */
export const RequestListResponse = z.object({ requests: z.array(RequestSummary) });
export type RequestListResponse = z.infer<typeof RequestListResponse>;
