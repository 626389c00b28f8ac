import { RARE_CAPABILITIES, Readiness } from "@roomhub/protocol";
import type { Load, Participant, Paths } from "../domain/participant.ts";
import type { ReportedStatus, TunnelReport } from "../domain/path-reports.ts";
import { noteVerdict, updateTrial } from "../domain/readiness.ts";
import { HubError } from "../errors.ts";
import type { OperationContext } from "./context.ts";
import { announceLoadedModels, shownOf, takeCapabilities, takeFacts, takeLoad } from "./learned.ts";
import { announceUpdate, recordLife } from "./presence.ts";

/** Something happened to the tunnel of a participant, or its agent sent something. */
export function tunnelReported(
  context: OperationContext,
  participant: Participant,
  report: TunnelReport,
): void {
  switch (report.kind) {
    case "alive":
      return recordTunnelContact(context, participant);
    case "opened":
      tunnelOpened(context, participant, report.status);
      return statusReported(context, participant, withAnnounced(report.status));
    case "status":
      return statusReported(context, participant, report.status);
    case "congested":
      // While its agent reads too slowly, requests wait for it as for a participant that is full.
      participant.load.isCongested = report.isCongested;
      if (!report.isCongested) context.routingChanged(participant.roomCode);
      return;
    case "interrupted":
      return tunnelInterrupted(context, participant, report.streams);
    case "resumed":
      return tunnelResumed(context, participant);
    case "closed":
      return tunnelClosed(context, participant);
  }
}

/** An older agent does not announce the rare surfaces, and refuses their requests. */
function withAnnounced(status: ReportedStatus): ReportedStatus {
  const unsupported = [...RARE_CAPABILITIES].map((name) => [name, "unsupported"]);
  const capabilities = { ...Object.fromEntries(unsupported), ...status.capabilities };
  return { ...status, capabilities };
}

/** The participant dialled in, ready or not. Contract §2: one `participant.updated` when a path opens or closes. */
export function tunnelOpened(
  context: OperationContext,
  participant: Participant,
  status: ReportedStatus = { ready: true },
): void {
  const wasOffline = participant.presence.status === "offline";
  participant.paths.tunnel = openTunnel(participant, status, context.nowMs());
  participant.presence.returning = undefined;
  participant.paths.tunnelProblem = undefined;
  participant.load.isCongested = false;
  // An agent that was started again may have another budget.
  participant.load.restsUntilMs = undefined;
  participant.load.budget = status.budget;
  context.budgetUpdates.noteAnnounced(participant, context.nowMs());
  context.tunnelOpenings.forgive(participant);
  updateTrial(participant);
  recordTunnelContact(context, participant);
  if (!wasOffline) announceUpdate(context, participant);
}

function openTunnel(
  { paths }: Participant,
  { ready, readiness = ready ? "ready" : "down", reason = "" }: ReportedStatus,
  nowMs: number,
): Paths["tunnel"] {
  const { tunnel } = paths;
  const { data: word = "down" } = Readiness.safeParse(readiness);
  const verdict = word === "ready" && !ready ? "down" : word;
  const isSame = tunnel.kind === "open" && tunnel.readiness === verdict;
  return {
    kind: "open",
    readiness: verdict,
    problem: reason.slice(0, 200),
    sinceMs: isSame ? tunnel.sinceMs : nowMs,
  };
}

export function tunnelClosed(context: OperationContext, participant: Participant): void {
  participant.paths.tunnel = { kind: "closed" };
  participant.load.isCongested = false;
  participant.load.budget = undefined;
  participant.load.restsUntilMs = undefined;
  updateTrial(participant);
  announceUpdate(context, participant);
}

/** Any frame or pong is life. Contract §2. */
function recordTunnelContact(context: OperationContext, participant: Participant): void {
  participant.paths.lastContactAt = context.wallMs();
  participant.paths.lastContactMs = context.nowMs();
  recordLife(context, participant);
}

/** STATUS: the model server went down or came back, or its agent learned what it can do. */
export function statusReported(
  context: OperationContext,
  participant: Participant,
  status: ReportedStatus,
): void {
  if (participant.paths.tunnel.kind !== "open") return;
  const before = shownOf(participant);
  takeStatus(context, participant, status);
  if (shownOf(participant) !== before) {
    context.loadedUpdates.noteAnnounced(participant, context.nowMs());
    announceUpdate(context, participant);
  }
  announceLoadedModels(context);
}

/** Takes all of a status and announces nothing. */
function takeStatus(
  context: OperationContext,
  participant: Participant,
  status: ReportedStatus,
): void {
  const next = openTunnel(participant, status, context.nowMs());
  if (next.kind === "open") noteVerdict(participant, next.readiness, context.nowMs());
  participant.paths.tunnel = next;
  updateTrial(participant);
  takeCapabilities(participant, status.capabilities ?? {});
  const { limit, limitFrom, elsewhere = 0 } = status;
  takeLoad(context, participant, {
    limit,
    limitFrom: limitFrom === "learned" ? "learned" : "engine",
    elsewhere,
  });
  takeFacts(participant, status);
  takeBudget(context, participant, status.budget);
  context.loadedUpdates.report(participant, status.loaded);
}

/** A renewed budget ends the rest at once: the agent was started again, or its day began. */
function takeBudget(
  { budgetUpdates, routingChanged }: OperationContext,
  participant: Participant,
  budget: Load["budget"],
): void {
  const before = participant.load.budget?.remainingTokens ?? 0;
  const isRenewed = (budget?.remainingTokens ?? 0) > before;
  if (isRenewed && participant.load.restsUntilMs !== undefined) {
    participant.load.restsUntilMs = undefined;
    routingChanged(participant.roomCode);
  }
  if (budget === undefined && participant.load.budget === undefined) return;
  participant.load.budget = budget;
  budgetUpdates.note(participant);
}

/** An agent refused a request for its budget: no request goes there until then. Contract §3, "Budgets". */
export function participantRests(
  context: OperationContext,
  participant: Participant,
  untilMs: number,
): void {
  participant.load.restsUntilMs = untilMs;
  context.budgetUpdates.note(participant);
}

/** Routes waiting requests again where a rest is over, and announces the changes of budgets that are due. */
export function announceBudgets(context: OperationContext): void {
  const nowMs = context.nowMs();
  for (const { roomCode } of context.budgetUpdates.takeRested(nowMs)) {
    context.routingChanged(roomCode);
  }
  for (const participant of context.budgetUpdates.takeDue(nowMs)) {
    announceUpdate(context, participant);
  }
}

/**
 * The tunnel lost its connection while streams run in it, or together with a hub that stops, and its agent dials again.
 * Until then new requests wait, as for a model that loads. Silence counts from the last sign of life. Contract §3, "A lost
 * connection".
 *
 * @param streams - that wait
 */
function tunnelInterrupted(
  context: OperationContext,
  participant: Participant,
  streams: number,
): void {
  const { tunnel } = participant.paths;
  if (tunnel.kind !== "open") return;
  const { readiness, problem, sinceMs } = tunnel;
  participant.paths.tunnel = {
    kind: "interrupted",
    streams,
    sinceMs: context.nowMs(),
    before: { readiness, problem, sinceMs },
  };
  announceUpdate(context, participant);
}

/** The agent dialled again, and the streams continue. Readiness, budget and rest are as before. */
function tunnelResumed(context: OperationContext, participant: Participant): void {
  const { tunnel } = participant.paths;
  if (tunnel.kind !== "interrupted") return;
  const wasOffline = participant.presence.status === "offline";
  const nowMs = context.nowMs();
  participant.paths.tunnel = { kind: "open", ...tunnel.before };
  updateTrial(participant);
  context.budgetUpdates.noteAnnounced(participant, nowMs);
  context.loadedUpdates.noteAnnounced(participant, nowMs);
  recordTunnelContact(context, participant);
  if (!wasOffline) announceUpdate(context, participant);
}

/**
 * Admits a tunnel, unless its token has opened too many lately: two agents with one token would replace each other's tunnel
 * for ever. The open tunnel stays. Contract §3.
 *
 * @throws HubError `tunnel_flapping`
 */
export function admitTunnel(context: OperationContext, participant: Participant): void {
  if (context.tunnelOpenings.take(participant, context.nowMs())) return;
  const { tunnelOpenings: most, tunnelOpeningsMs: withinMs } = context.limits;
  const fact = `more than ${most} were opened with its token within ${withinMs / 1_000} s`;
  if (participant.paths.tunnelProblem === undefined) {
    participant.paths.tunnelProblem = `a tunnel was refused: ${fact}, as by two agents that share it`;
    announceUpdate(context, participant);
  }
  throw new HubError("tunnel_flapping", `A tunnel of ${participant.id} was refused: ${fact}.`, {
    retryAfterMs: withinMs,
    hint: "Run one agent per token; where there is only one, look at what cuts its tunnels: roomhub doctor",
  });
}

/** Forgets refused tunnels once none was refused for as long as openings count, each with one event. */
export function settleFlapping(context: OperationContext): void {
  for (const participant of context.tunnelOpenings.takeSettled(context.nowMs())) {
    participant.paths.tunnelProblem = undefined;
    announceUpdate(context, participant);
  }
}

/**
 * Admits another connection for a session, which is not the opening of a tunnel.
 *
 * @throws HubError `tunnel_flapping`
 */
export function admitResume(
  context: OperationContext,
  participant: Participant,
  session: object,
): void {
  if (context.tunnelResumes.take(session, context.nowMs())) return;
  throw new HubError(
    "tunnel_flapping",
    `The tunnel of ${participant.id} was resumed 60 times within a minute.`,
    { retryAfterMs: 1_000, hint: "Look at what cuts its connection: roomhub doctor" },
  );
}
