import type {
  ClientIdentity,
  InferenceProtocol,
  QueuedPayload,
  RequestPayload,
} from "@roomhub/protocol";
import { VersionedMap } from "./versioned-map.ts";

/** Above the hub's default limit (`inFlightPerHub`); beyond it the oldest request is dropped. */
const RUNNING_REQUESTS = 20_000;

interface RequestFacts {
  readonly requestId: string;
  /** the request's `model` field */
  readonly selector: string;
  readonly protocol: InferenceProtocol;
  readonly client: ClientIdentity;
  /** the same 8 hex digits for requests of one conversation */
  readonly conversation: string | undefined;
  readonly priority: "batch" | undefined;
  /** epoch ms on the watcher's clock */
  readonly startedMs: number;
  /** 0 until a participant was selected */
  readonly attempt: number;
}

interface AtParticipant {
  readonly participantId: string;
  readonly model: string;
  /** epoch ms of the last attempt */
  readonly sentMs: number;
}

/** A request without an end. */
export type RunningRequest = RequestFacts &
  (
    | {
        readonly kind: "queued";
        /** 1-based; moves up as requests ahead of it leave the queue */
        readonly place: number;
      }
    /** for the first token */
    | ({ readonly kind: "waiting" } & AtParticipant)
    | ({
        readonly kind: "streaming";
        readonly ttftMs: number;
        /** epoch ms from which the rate is counted: the first token, or when a stream that was already running was first seen */
        readonly ratedFromMs: number;
        /** generated before that */
        readonly ratedFromTokens: number;
        /** so far */
        readonly outputTokens: number;
        /** since `ratedFromMs`; undefined until tokens were counted */
        readonly tokensPerSecond: number | undefined;
      } & AtParticipant)
  );

/** By request id. */
export type Running = ReadonlyMap<string, RunningRequest>;

/** Puts a request into the queue, ahead of those with the same or a later place. */
export function queued(running: Running, event: QueuedPayload, nowMs: number): Running {
  const known = running.get(event.requestId);
  const before = known?.kind === "queued" ? leftQueue(running, known) : running;
  const after = shifted(before, (place) => (place >= event.place ? place + 1 : place));
  return bounded(
    withEntry(after, event.requestId, {
      ...factsOf(event),
      startedMs: known?.startedMs ?? nowMs,
      attempt: known?.attempt ?? 0,
      kind: "queued",
      place: event.place,
    }),
  );
}

/** A participant was selected: the first time, or for another attempt. */
export function sent(running: Running, event: RequestPayload, nowMs: number): Running {
  const known = running.get(event.requestId);
  const before = known === undefined ? running : leftQueue(running, known);
  return bounded(
    withEntry(before, event.requestId, {
      ...factsOf(event),
      conversation: event.conversation ?? known?.conversation,
      startedMs: known?.startedMs ?? nowMs,
      attempt: event.attempt,
      kind: "waiting",
      participantId: event.participantId,
      model: event.model,
      sentMs: nowMs,
    }),
  );
}

/** The first content of a response arrived; unchanged for a request that is not waiting for it. */
export function began(
  running: Running,
  requestId: string,
  ttftMs: number,
  nowMs: number,
  tokensBefore = 0,
): Running {
  const known = running.get(requestId);
  if (known?.kind !== "waiting") return running;
  return withEntry(running, requestId, {
    ...known,
    kind: "streaming",
    ttftMs,
    ratedFromMs: nowMs,
    ratedFromTokens: tokensBefore,
    outputTokens: 0,
    tokensPerSecond: undefined,
  });
}

/** A stream produced more; unchanged for an unknown request and for a count that is not higher. */
export function progressed(
  running: Running,
  requestId: string,
  outputTokens: number,
  nowMs: number,
): Running {
  const waiting = running.get(requestId);
  const ttftMs = waiting?.kind === "waiting" ? Math.max(0, nowMs - waiting.sentMs) : 0;
  // The first token was not seen, so the time of the tokens so far is unknown.
  const begun = began(running, requestId, ttftMs, nowMs, outputTokens);
  const known = begun.get(requestId);
  if (known?.kind !== "streaming" || !(outputTokens > known.outputTokens)) return begun;
  const ratedMs = nowMs - known.ratedFromMs;
  const ratedTokens = Math.max(0, outputTokens - known.ratedFromTokens);
  return withEntry(begun, requestId, {
    ...known,
    outputTokens,
    tokensPerSecond: ratedMs > 0 ? (ratedTokens * 1_000) / ratedMs : known.tokensPerSecond,
  });
}

/** Removes a request that ended; those behind it in the queue move up. */
export function ended(running: Running, requestId: string): Running {
  const known = running.get(requestId);
  if (known === undefined) return running;
  return VersionedMap.from(leftQueue(running, known)).without(requestId);
}

function factsOf(
  event: Pick<RequestFacts, "requestId" | "selector" | "protocol" | "client"> & {
    conversation?: string | undefined;
    priority?: "batch" | undefined;
  },
) {
  const { requestId, selector, protocol, client, conversation, priority } = event;
  return { requestId, selector, protocol, client, conversation, priority };
}

function leftQueue(running: Running, request: RunningRequest): Running {
  if (request.kind !== "queued") return running;
  return shifted(running, (place) => (place > request.place ? place - 1 : place));
}

/** Gives queued requests new places; the same map when none changes. */
function shifted(running: Running, newPlace: (place: number) => number): Running {
  const moved: RunningRequest[] = [];
  for (const request of running.values()) {
    if (request.kind !== "queued") continue;
    const place = newPlace(request.place);
    if (place !== request.place) moved.push({ ...request, place });
  }
  return moved.reduce((map, request) => withEntry(map, request.requestId, request), running);
}

function bounded(running: Running): Running {
  if (running.size <= RUNNING_REQUESTS) return running;
  const [oldest = ""] = running.keys();
  return bounded(VersionedMap.from(running).without(oldest));
}

/** A {@link VersionedMap}: there may be thousands of requests, and each event changes one. */
function withEntry(running: Running, requestId: string, request: RunningRequest): Running {
  return VersionedMap.from(running).with(requestId, request);
}
