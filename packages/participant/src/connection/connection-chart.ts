import type { StopReason } from "../notice.ts";

/**
 * How a participant connects and reconnects to the hub.
 *
 * ```
 * idle ─start─► joining ─joined─► dialling ─opened─► connected
 *                 ▲  │ failed        │ failed            │ failed
 *                 │  ▼               ▼                   ▼
 *                 └─ waiting ─due, woke─► (joining | dialling, the one that failed; in a cluster, also the other)
 *
 * dialling, connected ─forgotten─► joining     the hub does not have this participant
 * connected ─dismissed─► joining               at another hub of the cluster
 * connected ─dismissed─► dialling              where rooms have homes: any hub leads to the next one
 * dialling ─resumed─► connected                with the streams of the interrupted session
 * any ─refused, close─► stopped                final
 * ```
 *
 * States are values; this file reads no clock and no randomness.
 */
export type ConnectionState =
  | { kind: "idle" }
  /** `isMoving`: at the next hub of the cluster */
  | { kind: "joining"; failures: number; isMoving: boolean }
  /** `isRedial`: with the token of an earlier join, which the hub may have lost since */
  | { kind: "dialling"; failures: number; isRedial: boolean }
  | { kind: "waiting"; failures: number; untilMs: number; next: NextTry }
  | { kind: "connected"; failures: number; sinceMs: number }
  | { kind: "stopped"; stop: StopReason };

/** `moving`: joining at the next hub of the cluster. */
type NextTry = "joining" | "moving" | "dialling";

export type ConnectionEvent =
  | { type: "start" }
  | { type: "joined" }
  /** HELLO of the hub. */
  | { type: "opened" }
  /** The same, and the interrupted session is resumed. */
  | { type: "resumed" }
  /** A join or a dial failed, or the tunnel broke. `retryAfterMs`: the hub's `retry-after`. `isStale`: the hub is not
   * the home of the room any more. */
  | { type: "failed"; retryAfterMs?: number | undefined; isStale?: true }
  /** The hub responded 404. */
  | { type: "forgotten" }
  /** The hub is stopping, or another one is the home of the room: that one can take this participant. */
  | { type: "dismissed" }
  /** The wait is over. */
  | { type: "due" }
  /** The machine slept: retry without further delay. */
  | { type: "woke" }
  | { type: "refused"; stop: StopReason }
  | { type: "close" };

export interface ChartInputs {
  /** ms, monotonic */
  nowMs: number;
  /** 0 ≤ random < 1 */
  random: number;
  backoffBaseMs: number;
  backoffMaxMs: number;
  stableMs: number;
  /** In a cluster: a hub that cannot be reached is not waited for. */
  hasOtherHubs: boolean;
  /** The room has a home, to which every hub of the cluster leads. */
  hasHome: boolean;
  /** Streams of an interrupted session wait for the next connection. */
  hasWaitingStreams: boolean;
}

/** The longest delays while streams wait: before the first dial, and before the others. */
const firstResumeMs = 100;
const maxResumeMs = 1_000;

/** A tunnel that ends sooner was of no use at that hub. */
const briefMs = 1_000;

/** The longest `retry-after` that is honoured. */
const maxRetryAfterMs = 60_000;

/** @returns the same object when the event has no effect in this state */
export function nextState(
  state: ConnectionState,
  event: ConnectionEvent,
  inputs: ChartInputs,
): ConnectionState {
  if (state.kind === "stopped") return state;
  switch (event.type) {
    case "close":
      return { kind: "stopped", stop: { code: "closed", reason: "closed by this program" } };
    case "refused":
      return { kind: "stopped", stop: event.stop };
    case "start":
      return state.kind === "idle" ? { kind: "joining", failures: 0, isMoving: false } : state;
    case "joined":
      return state.kind === "joining"
        ? { kind: "dialling", failures: state.failures, isRedial: false }
        : state;
    case "opened":
      return state.kind === "dialling"
        ? { kind: "connected", failures: state.failures, sinceMs: inputs.nowMs }
        : state;
    case "resumed":
      return state.kind === "dialling"
        ? { kind: "connected", failures: 0, sinceMs: inputs.nowMs }
        : state;
    case "failed":
      return afterFailure(state, event, inputs);
    case "forgotten":
      return afterForgotten(state, inputs);
    case "dismissed":
      return afterDismissal(state, inputs);
    case "due":
      return state.kind === "waiting" && inputs.nowMs >= state.untilMs ? wokenUp(state) : state;
    case "woke":
      return state.kind === "waiting" ? wokenUp(state) : state;
  }
}

/**
 * Full jitter: from 0 to a bound that doubles with each consecutive failure.
 *
 * @param failures - consecutive, without this one
 */
export function backoffMs(failures: number, inputs: ChartInputs): number {
  const boundMs = Math.min(inputs.backoffMaxMs, inputs.backoffBaseMs * 2 ** Math.min(failures, 20));
  return inputs.random * boundMs;
}

function afterDismissal(state: ConnectionState, inputs: ChartInputs): ConnectionState {
  if (state.kind !== "connected") return state;
  if (inputs.hasHome) {
    const failures = failuresOf(state, inputs);
    // Pause, in case two hubs send the agent to one another.
    const isBrief = inputs.nowMs - state.sinceMs < briefMs;
    return isBrief
      ? waitFor("dialling", failures, 0, inputs)
      : { kind: "dialling", failures, isRedial: true };
  }
  return inputs.hasOtherHubs ? { kind: "joining", failures: 0, isMoving: true } : state;
}

function afterFailure(
  state: ConnectionState,
  { retryAfterMs = 0, isStale }: Extract<ConnectionEvent, { type: "failed" }>,
  inputs: ChartInputs,
): ConnectionState {
  if (state.kind !== "joining" && state.kind !== "dialling" && state.kind !== "connected") {
    return state;
  }
  const failures = failuresOf(state, inputs);
  // First redial the same hub: the others may not know yet that it is lost.
  if (state.kind === "connected") {
    const delayMs = inputs.hasWaitingStreams ? inputs.random * firstResumeMs : undefined;
    return waitFor("dialling", failures, retryAfterMs, inputs, delayMs);
  }
  const { hasOtherHubs, hasWaitingStreams } = inputs;
  const boundMs = hasWaitingStreams ? maxResumeMs : inputs.backoffMaxMs;
  const paced = { ...inputs, backoffMaxMs: boundMs };
  // The address that the user named first, then the other hubs.
  if (isStale === true && !(state.kind === "dialling" && state.isRedial))
    return waitFor("dialling", failures, retryAfterMs, paced);
  // Alternate between other hubs and the one with the streams: this machine may be the one without a network.
  if (hasWaitingStreams && state.kind === "joining")
    return waitFor("dialling", failures, retryAfterMs, paced);
  if (hasOtherHubs) return waitFor("moving", failures, 0, paced);
  return waitFor(state.kind, failures, retryAfterMs, paced);
}

function afterForgotten(state: ConnectionState, inputs: ChartInputs): ConnectionState {
  if (state.kind === "waiting") return { ...state, next: "joining" };
  if (state.kind !== "dialling" && state.kind !== "connected") return state;
  const failures = failuresOf(state, inputs);
  // Immediately if a redial reached the hub: it was restarted. With backoff if the hub loses a participant right after its
  // join.
  const isHubBack = state.kind === "dialling" && state.isRedial;
  if (failures === 0 || isHubBack)
    return { kind: "joining", failures: failures + 1, isMoving: false };
  return waitFor("joining", failures, 0, inputs);
}

function failuresOf(
  state: Extract<ConnectionState, { failures: number }>,
  inputs: ChartInputs,
): number {
  const wasStable = state.kind === "connected" && inputs.nowMs - state.sinceMs >= inputs.stableMs;
  return wasStable ? 0 : state.failures;
}

function waitFor(
  next: NextTry,
  failures: number,
  retryAfterMs: number,
  inputs: ChartInputs,
  delayMs = backoffMs(failures, inputs),
): ConnectionState {
  const untilMs = inputs.nowMs + Math.min(retryAfterMs, maxRetryAfterMs) + delayMs;
  return { kind: "waiting", failures: failures + 1, untilMs, next };
}

function wokenUp(state: Extract<ConnectionState, { kind: "waiting" }>): ConnectionState {
  const { next, failures } = state;
  if (next === "dialling") return { kind: next, failures, isRedial: true };
  return { kind: "joining", failures, isMoving: next === "moving" };
}
