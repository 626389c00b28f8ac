import { z } from "zod";
import { Connection, Load } from "./participant.ts";
import { InferenceProtocol } from "./surface.ts";

/** What is asked of `GET …/route`: a request's `model` field and its surface. */
export const RouteQuestion = z.object({
  model: z.string().min(1).default("*"),
  protocol: InferenceProtocol.default("chatCompletions"),
});
export type RouteQuestion = z.input<typeof RouteQuestion>;

/**
 * What becomes of one participant.
 *
 * - `asked`: the request would go to it now
 * - `random`: the request would go to one of those with this verdict
 * - `next`: it takes over when the one that is asked fails before its answer begins
 * - `standby`: it could serve, but others come first
 * - `full`: it runs as many requests as it may; where nobody else can serve, the request waits for it
 * - `loading`: its model server loads its model; where no other can serve, the request waits for it
 * - `passed-over`: it cannot serve this request now
 */
export const RouteVerdict = z.enum([
  "asked",
  "random",
  "next",
  "standby",
  "full",
  "loading",
  "passed-over",
]);
export type RouteVerdict = z.infer<typeof RouteVerdict>;

export const RouteCandidate = z.object({
  id: z.string(),
  nickname: z.string(),
  model: z.string(),
  verdict: RouteVerdict,
  reason: z.string(),
  connection: Connection,
  load: Load,
});
export type RouteCandidate = z.infer<typeof RouteCandidate>;

/** Where a request would go now, and why. Answered by the very selection that requests go through. */
export const RouteExplanation = z.object({
  roomCode: z.string(),
  /** the `model` field as it was given */
  model: z.string(),
  protocol: InferenceProtocol,
  /** anybody, a participant's id, or the name of a model */
  readAs: z.enum(["any", "id", "model"]),
  /** a participant is asked at once, the request waits for one that is full or loading, or it is refused */
  outcome: z.enum(["asked", "waits", "refused"]),
  /** in the order they are considered; those who do not match at all come last */
  participants: z.array(RouteCandidate),
  /** requests of the room that wait, how many may, and how long each */
  queue: z.object({ waiting: z.int(), limit: z.int(), waitMs: z.number() }),
  /** what a failure before the answer begins leads to; absent when the request is refused */
  onFailure: z.object({ movesTo: z.string().nullable(), reason: z.string() }).optional(),
  /** present when the request is refused: the error it would get */
  refusal: z
    .object({ status: z.int(), code: z.string(), message: z.string(), hint: z.string() })
    .optional(),
});
export type RouteExplanation = z.infer<typeof RouteExplanation>;
