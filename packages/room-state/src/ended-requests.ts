import type {
  ClientIdentity,
  CompletePayload,
  ErrorCode,
  FailurePayload,
  FailureStage,
  InferenceProtocol,
  Metrics,
} from "@roomhub/protocol";

export const RECENT_REQUESTS = 500;

interface EndedFacts {
  readonly requestId: string;
  readonly selector: string | undefined;
  readonly protocol: InferenceProtocol;
  readonly client: ClientIdentity;
  readonly conversation: string | undefined;
  readonly priority: "batch" | undefined;
  /** undefined when no participant got the request */
  readonly participantId: string | undefined;
  readonly model: string | undefined;
  readonly attempts: number;
  readonly queueMs: number;
  /** epoch ms on the watcher's clock */
  readonly endedMs: number;
}

/** A request that ended while the room was watched. */
export type EndedRequest = EndedFacts &
  (
    | {
        readonly kind: "done";
        readonly metrics: Metrics;
        /** how often its tunnel lost its connection and was resumed */
        readonly resumes: number;
      }
    /** by its client */
    | { readonly kind: "cancelled" }
    | {
        readonly kind: "failed";
        readonly stage: FailureStage;
        /** of the hub, or the provider's own */
        readonly code: string;
        readonly error: string;
        /** the next step; undefined for a code that has none */
        readonly hint: string | undefined;
      }
  );

export function done(event: CompletePayload, nowMs: number): EndedRequest {
  const { metrics, resumes = 0 } = event;
  return { ...endOf(event, nowMs), kind: "done", metrics, resumes };
}

/** @param event - with the code of its room, as every event has it */
export function failed(event: FailurePayload & { roomCode: string }, nowMs: number): EndedRequest {
  const facts = endOf(event, nowMs);
  if (event.code === "client_disconnected") return { ...facts, kind: "cancelled" };
  const { stage, code, error, roomCode } = event;
  return { ...facts, kind: "failed", stage, code, error, hint: failureHint(code, roomCode) };
}

function endOf(event: CompletePayload | FailurePayload, nowMs: number): EndedFacts {
  return {
    requestId: event.requestId,
    selector: event.selector ?? undefined,
    protocol: event.protocol,
    client: event.client,
    conversation: event.conversation,
    priority: event.priority,
    participantId: event.participantId ?? undefined,
    model: event.model ?? undefined,
    attempts: event.attempts,
    queueMs: event.queueMs,
    endedMs: nowMs,
  };
}

const fewer = "join another participant, or send fewer requests at once";
const runs = "check that the participant's model server is running";
const log = "read the log of the participant's model server";
const load = "check the load of the participant's model server";
const soon = "retry in a few seconds";

const hints: Partial<Record<ErrorCode, string>> = {
  unsupported_protocol: "use another path, or join a participant that supports this one",
  previous_response_not_found: "send the whole conversation, without previous_response_id",
  context_length_exceeded: "shorten the prompt, or join a participant with a larger context",
  model_not_found: "list the models: roomhub models CODE",
  participant_not_found: "list the participants: roomhub participants CODE",
  budget_exhausted: "wait until the budget is renewed, or join another participant",
  queue_full: fewer,
  queue_timeout: fewer,
  batch_timeout: fewer,
  batch_refused: "join a participant that serves batches",
  client_stalled: "check the client's connection to the hub",
  internal_error: "read the hub's log",
  tunnel_lost: "check the connection between participant and hub",
  provider_unreachable: runs,
  participant_offline: "check that the participant is running: roomhub participants CODE",
  provider_auth_failed: "check the participant's credentials for its model server",
  provider_error: log,
  provider_invalid_response: log,
  provider_disconnected: log,
  response_too_large: "ask for fewer tokens",
  provider_timeout: load,
  stream_idle_timeout: load,
  request_timeout: load,
  hub_draining: soon,
  hub_overloaded: soon,
  hub_shutting_down: soon,
  cluster_unavailable: soon,
  peer_unavailable: soon,
};

/**
 * The next step after a failure, as a short sentence part; undefined for a code that has none, such as a provider's own.
 *
 * @param roomCode - for commands that name the room
 */
function failureHint(code: string, roomCode: string): string | undefined {
  return Object.hasOwn(hints, code)
    ? hints[code as ErrorCode]?.replace("CODE", roomCode)
    : undefined;
}
