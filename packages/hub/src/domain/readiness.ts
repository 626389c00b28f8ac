import { PAUSED_REASON, type Readiness } from "@roomhub/protocol";
import { forgetMeasured } from "./needs/model-facts.ts";
import type { Participant, PathVerdict, TunnelGap, Withheld } from "./participant.ts";

/** The verdict on its model server over any path. Without a path, or offline, it is `down`. */
export function readinessOf(participant: Participant): Readiness {
  const { isTunnelOnly } = participant;
  const { status, returning } = participant.presence;
  const { tunnel, direct } = participant.paths;
  if (status === "offline") return "down";
  if (returning !== undefined) {
    return isTunnelOnly || isComplete(returning) ? "loading" : "needs-credentials";
  }
  if (tunnel.kind === "open") return tunnel.readiness;
  // New requests wait until it resumes, as running ones do.
  if (tunnel.kind === "interrupted") return "loading";
  switch (direct.kind) {
    case "answered":
      return direct.readiness;
    case "untried":
      return "ready";
    case "refused":
    case "failed":
      return "down";
  }
}

/** Whether nothing is missing that only its next join can send. */
export function isComplete({ authHeaders, instructions, machineSecret }: Withheld): boolean {
  return !authHeaders && !instructions && !machineSecret;
}

/**
 * Whether it can get a request now. A participant that needs credentials is tried at intervals, see {@link
 * updateTrial}.
 *
 * @param nowMs - called only when a trial may be due, or a budget was used up
 */
export function isRoutable(participant: Participant, nowMs: () => number): boolean {
  const readiness = readinessOf(participant);
  if (readiness === "ready") {
    return !isResting(participant, nowMs) && !isOverloaded(participant, nowMs);
  }
  if (readiness !== "needs-credentials") return false;
  const { trial } = participant.learned.credentials;
  return trial !== undefined && trial.dueMs <= nowMs();
}

/** Whether its agent refuses requests for its budget now. Contract §3, "Budgets". */
export function isResting({ load }: Participant, nowMs: () => number): boolean {
  const { restsUntilMs } = load;
  return restsUntilMs !== undefined && nowMs() < restsUntilMs;
}

export function isLoading(participant: Participant): boolean {
  return readinessOf(participant) === "loading";
}

/** Whether its model server is overloaded now. Contract §3, "Readiness". */
export function isOverloaded({ load }: Participant, nowMs: () => number): boolean {
  const { overloadedUntilMs } = load;
  return overloadedUntilMs !== undefined && nowMs() < overloadedUntilMs;
}

/**
 * For how long its model server has been loading, and how long it took before; undefined while it is not loading, or not
 * by its own account.
 */
export function loadingOf(
  { paths, learned }: Participant,
  nowMs: number,
): { sinceMs: number; expectedMs: number | undefined } | undefined {
  const path = verdictIn(paths);
  if (path?.readiness !== "loading") return undefined;
  const expectedMs = learned.loadTookMs ?? learned.pace.loadMs;
  const sinceMs = Math.max(0, Math.round(nowMs - path.sinceMs));
  return { sinceMs, expectedMs: expectedMs && Math.round(expectedMs) };
}

/** The verdict on its model server, over the path that is used. */
function verdictIn({ tunnel, direct }: Participant["paths"]): PathVerdict | undefined {
  if (tunnel.kind === "open") return tunnel;
  return tunnel.kind === "closed" && direct.kind === "answered" ? direct : undefined;
}

/** Called before a verdict is replaced: the end of loading shows how long it takes, and a server that was down may return as another. */
export function noteVerdict(participant: Participant, readiness: Readiness, nowMs: number): void {
  if (readiness === "down" || readiness === "wrong-model") forgetMeasured(participant);
  const before = verdictIn(participant.paths);
  if (before?.readiness !== "loading" || readiness !== "ready") return;
  participant.learned.loadTookMs = nowMs - before.sinceMs;
}

/** Whether it is loading or overloaded: a request waits for it, as for a full participant. */
export function isAwaited(participant: Participant, nowMs: () => number): boolean {
  if (isLoading(participant)) return true;
  const isReady = readinessOf(participant) === "ready" && !isResting(participant, nowMs);
  return isReady && isOverloaded(participant, nowMs);
}

/**
 * The problem of its model server with the last request, though it takes further ones; undefined when it is not ready.
 */
export function doubtOf({ paths }: Participant): string | undefined {
  const { tunnel, direct } = paths;
  const path = tunnel.kind === "open" ? tunnel : direct.kind === "answered" ? direct : undefined;
  return path?.readiness === "ready" && path.problem !== "" ? path.problem : undefined;
}

/** Why this participant gets no request now, for a refusal; undefined when it can get one. */
export function unroutableReason(participant: Participant, nowMs: number): string | undefined {
  return pathReason(participant, nowMs) ?? restReason(participant, nowMs);
}

function restReason({ load }: Participant, nowMs: number): string | undefined {
  const { restsUntilMs } = load;
  if (restsUntilMs === undefined || nowMs >= restsUntilMs) return undefined;
  return `its budget is used up${duration(Math.max(1_000, restsUntilMs - nowMs))}`;
}

function pathReason(participant: Participant, nowMs: number): string | undefined {
  const { nickname, model } = participant;
  const { status, returning } = participant.presence;
  const { tunnel, direct } = participant.paths;
  if (status === "offline") return "offline: no contact for over 30 s";
  if (returning !== undefined) return returnReason(returning);
  if (tunnel.kind === "open") {
    const isPaused = tunnel.readiness === "down" && tunnel.problem === PAUSED_REASON;
    if (isPaused) return `${nickname} has paused sharing ${model}`;
    return tunnel.readiness === "down"
      ? `not ready: ${tunnel.problem || "its model server does not respond"}`
      : problemOf(tunnel, nowMs);
  }
  if (tunnel.kind === "interrupted") return gapReason(tunnel, nowMs);
  switch (direct.kind) {
    case "refused":
      return participant.isTunnelOnly ? "its tunnel is closed" : direct.reason;
    case "failed":
      return direct.reason;
    case "untried":
      return undefined;
    case "answered":
      return problemOf(direct, nowMs);
  }
}

function returnReason(returning: Withheld): string {
  const missing = [
    returning.authHeaders ? "authHeaders" : undefined,
    returning.instructions ? "instructions" : undefined,
    returning.machineSecret ? "machineSecret" : undefined,
  ].filter((field) => field !== undefined);
  return missing.length === 0
    ? "the hub it was connected to has stopped, and its agent has not dialled again"
    : `the hub that had its ${missing.join(", ")} has stopped: it must join again`;
}

function gapReason({ streams, sinceMs }: TunnelGap, nowMs: number): string {
  const seconds = Math.floor((nowMs - sinceMs) / 1_000);
  const ago = seconds < 1 ? "" : ` ${seconds} s ago`;
  return `connection lost${ago}, ${streams === 1 ? "1 stream waits" : `${streams} streams wait`} for it`;
}

function problemOf({ readiness, problem, sinceMs }: PathVerdict, nowMs: number) {
  switch (readiness) {
    case "ready":
      return undefined;
    case "loading":
      return `loading its model${duration(nowMs - sinceMs)}`;
    case "needs-credentials":
      return problem || "requires credentials";
    case "wrong-model":
      return problem || "serves another model now";
    case "down":
      return problem || "its model server does not respond";
  }
}

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 1) return "";
  return seconds < 120 ? ` for ${seconds} s` : ` for ${Math.floor(seconds / 60)} min`;
}

const firstTrialAfterMs = 5_000;
const longestTrialDelayMs = 2 * 60_000;

/**
 * Begins or ends the trials of a participant's credentials; called whenever its path may have changed. Contract §3: a
 * model server that refused them gets one request after 5 s and each next one after twice the time, since its key may
 * have been unlocked meanwhile.
 */
export function updateTrial(participant: Participant): void {
  const { credentials } = participant.learned;
  const refusedMs = refusedSinceMs(participant);
  if (refusedMs === undefined) credentials.trial = undefined;
  else {
    credentials.trial ??= {
      dueMs: refusedMs + firstTrialAfterMs,
      nextDelayMs: 2 * firstTrialAfterMs,
    };
  }
}

/** A request is sent: when it is the trial, schedules the next one. */
export function beginTrial({ learned }: Participant, nowMs: () => number): void {
  const { credentials } = learned;
  const { trial } = credentials;
  if (trial === undefined) return;
  trial.dueMs = nowMs() + trial.nextDelayMs;
  trial.nextDelayMs = Math.min(2 * trial.nextDelayMs, longestTrialDelayMs);
}

/**
 * Its credentials or its endpoint have changed: forgets what is known of the old ones, and makes a trial due at once.
 */
export function renewCredentials(participant: Participant, nowMs: number): void {
  const isRefused = refusedSinceMs(participant) !== undefined;
  participant.learned.credentials = {
    haveWorked: false,
    trial: isRefused ? { dueMs: nowMs, nextDelayMs: firstTrialAfterMs } : undefined,
  };
}

/** Since when its model server refuses its credentials, ms on the hub's clock; undefined when it does not. */
function refusedSinceMs({ paths }: Participant): number | undefined {
  const { tunnel, direct } = paths;
  const path = tunnel.kind === "closed" ? direct : tunnel.kind === "open" ? tunnel : tunnel.before;
  return "readiness" in path && path.readiness === "needs-credentials" ? path.sinceMs : undefined;
}
