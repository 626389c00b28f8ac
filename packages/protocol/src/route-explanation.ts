import { z } from "zod";
import { Features, ModelContext } from "./model-facts.ts";
import { Connection, Load } from "./participant.ts";
import { InferenceProtocol } from "./surface.ts";

/** The query of `GET …/route`: a request's `model` field and its surface, and what else decides where it goes. */
export const RouteQuestion = z.object({
  model: z.string().min(1).default("*"),
  protocol: InferenceProtocol.default("chatCompletions"),
  /** the session that the request would name, such as the value of `x-session-id`; at most 256 characters */
  session: z.string().min(1).max(256).optional(),
  /** the length of its prompt */
  promptBytes: z.coerce.number().int().min(0).max(67_108_864).default(4_096),
  /** what the request's header `x-roomhub-require` would say, such as `schema,tools` */
  require: z.string().max(256).optional(),
  /** what the request's header `x-roomhub-priority` would say */
  priority: z.enum(["batch", "interactive"]).default("interactive"),
});
export type RouteQuestion = z.input<typeof RouteQuestion>;

/**
 * The role of one participant for the request.
 *
 * - `asked`: the request would be sent to it
 * - `random`: the request would be sent to one of the participants with this verdict
 * - `next`: the request is retried there if it fails before the response starts
 * - `standby`: it could serve the request, but others come first
 * - `full`: at capacity; if no other participant can serve the request, it waits
 * - `loading`: its model server is loading the model; if no other participant can serve the request, it waits
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

/** What a request by model name can expect of a participant now; a field that was not measured is absent. */
export const RouteExpectation = z.object({
  /** ms until a slot is free */
  waitMs: z.number().optional(),
  /** ms from the slot to the first token; to the whole response where no stream was measured */
  firstTokenMs: z.number().optional(),
  /** how fast it reads a prompt */
  promptBytesPerSecond: z.number().optional(),
  /** bytes of the session's prompt that it may still hold in its cache; present when a session is given */
  warmBytes: z.int().optional(),
});
export type RouteExpectation = z.infer<typeof RouteExpectation>;

export const RouteCandidate = z.object({
  id: z.string(),
  nickname: z.string(),
  model: z.string(),
  verdict: RouteVerdict,
  reason: z.string(),
  connection: Connection,
  load: Load,
  /** as in the listing of participants */
  context: ModelContext.optional(),
  features: Features.optional(),
  /** present when the request is for a model name */
  expected: RouteExpectation.optional(),
});
export type RouteCandidate = z.infer<typeof RouteCandidate>;

/** What an alias makes of a request's `model` field. Contract §3, "Aliases". */
export const RouteAlias = z.object({
  pattern: z.string(),
  /** the target that takes the request, or would take it if it were not refused */
  target: z.string(),
  /** in the order in which they are tried */
  targets: z.array(
    z.object({
      target: z.string(),
      /** `passed-over`: no participant can serve it; `standby`: it is tried when those before it cannot serve the request */
      verdict: z.enum(["taken", "passed-over", "standby"]),
      reason: z.string(),
    }),
  ),
});
export type RouteAlias = z.infer<typeof RouteAlias>;

/** Where a request would be routed now, and why. Uses the same selection as requests. */
export const RouteExplanation = z.object({
  roomCode: z.string(),
  /** the `model` field as it was given */
  model: z.string(),
  protocol: InferenceProtocol,
  /** present when the `model` field matches an alias */
  alias: RouteAlias.optional(),
  /** any participant, a participant id, or a model name; with an alias, how its `target` is read */
  readAs: z.enum(["any", "id", "model"]),
  /** the request is sent at once, waits for a participant that is full or loading, or is refused */
  outcome: z.enum(["asked", "waits", "refused"]),
  /** in selection order; participants that do not match come last */
  participants: z.array(RouteCandidate),
  /** the room's queued requests, how many may queue, and for how long */
  queue: z.object({ waiting: z.int(), limit: z.int(), waitMs: z.number() }),
  /** what happens after a failure before the response starts; absent when the request is refused */
  onFailure: z.object({ movesTo: z.string().nullable(), reason: z.string() }).optional(),
  /** present when the request is refused: the error it would get */
  refusal: z
    .object({ status: z.int(), code: z.string(), message: z.string(), hint: z.string() })
    .optional(),
});
export type RouteExplanation = z.infer<typeof RouteExplanation>;
