import { type CapabilityValue, Readiness } from "@roomhub/protocol";
import {
  capabilitiesOf,
  type Participant,
  type PathVerdict,
  type ReportedLoad,
} from "../domain/participant.ts";
import { updateLimit } from "../domain/machine.ts";
import { updateTrial } from "../domain/readiness.ts";
import type { OperationContext } from "./context.ts";
import { wakeRooms, announceUpdate, recordLife } from "./presence.ts";

/** Far more than there are surfaces: a participant must not grow its entry in every listing. */
const maxCapabilities = 64;

/** The participant dialled in, ready or not. Contract §2: one `participant.updated` when a path opens or closes. */
export function tunnelOpened(
  context: OperationContext,
  participant: Participant,
  status: ReportedStatus = { ready: true },
): void {
  const wasOffline = participant.status === "offline";
  participant.tunnel = openTunnel(participant, status, context.nowMs());
  participant.returning = undefined;
  participant.tunnelProblem = undefined;
  participant.isCongested = false;
  // An agent that was started again may have another budget.
  participant.restsUntilMs = undefined;
  participant.budget = status.budget;
  context.budgetUpdates.noteAnnounced(participant, context.nowMs());
  context.tunnelOpenings.forgive(participant);
  updateTrial(participant);
  recordTunnelContact(context, participant);
  if (!wasOffline) announceUpdate(context, participant);
}

/** While its agent reads too slowly, requests wait for it, as for one that is full. */
export function tunnelCongested(
  context: OperationContext,
  participant: Participant,
  isCongested: boolean,
): void {
  participant.isCongested = isCongested;
  if (!isCongested) context.routingChanged(participant.roomCode);
}

export function tunnelClosed(context: OperationContext, participant: Participant): void {
  participant.tunnel = { kind: "closed" };
  participant.isCongested = false;
  participant.budget = undefined;
  participant.restsUntilMs = undefined;
  updateTrial(participant);
  announceUpdate(context, participant);
}

/** Any frame or pong is life. Contract §2. */
export function recordTunnelContact(context: OperationContext, participant: Participant): void {
  participant.lastContactAt = context.wallMs();
  participant.lastContactMs = context.nowMs();
  recordLife(context, participant);
}

export interface ReportedStatus {
  ready: boolean;
  /** a word of `Readiness`; any other word is `down`, and without it `ready` decides */
  readiness?: string | undefined;
  reason?: string | undefined;
  capabilities?: Record<string, string> | undefined;
  limit?: number | undefined;
  /** a word of `LimitSource`; any other is the model server's own */
  limitFrom?: string | undefined;
  elsewhere?: number | undefined;
  loaded?: readonly string[] | undefined;
  budget?: Participant["budget"];
}

/** STATUS on the tunnel: its provider went down or came back, or it learned what the provider can do. */
export function statusReported(
  context: OperationContext,
  participant: Participant,
  status: ReportedStatus,
): void {
  if (participant.tunnel.kind !== "open") return;
  const before = shownOf(participant);
  takeStatus(context, participant, status);
  if (shownOf(participant) !== before) {
    context.loadedUpdates.noteAnnounced(participant, context.nowMs());
    announceUpdate(context, participant);
  }
  announceLoadedModels(context);
}

/** Takes all that a status says, and announces nothing. */
export function takeStatus(
  context: OperationContext,
  participant: Participant,
  status: ReportedStatus,
): void {
  participant.tunnel = openTunnel(participant, status, context.nowMs());
  updateTrial(participant);
  mergeCapabilities(participant, status.capabilities ?? {});
  const { limit, limitFrom, elsewhere = 0 } = status;
  takeReport(context, participant, {
    limit,
    limitFrom: limitFrom === "learned" ? "learned" : "engine",
    elsewhere,
  });
  takeBudget(context, participant, status.budget);
  context.loadedUpdates.report(participant, status.loaded);
}

/** A renewed budget ends the rest at once: the agent was started again, or its day began. */
function takeBudget(
  { budgetUpdates, routingChanged }: OperationContext,
  participant: Participant,
  budget: Participant["budget"],
): void {
  const before = participant.budget?.remainingTokens ?? 0;
  const isRenewed = (budget?.remainingTokens ?? 0) > before;
  if (isRenewed && participant.restsUntilMs !== undefined) {
    participant.restsUntilMs = undefined;
    routingChanged(participant.roomCode);
  }
  if (budget === undefined && participant.budget === undefined) return;
  participant.budget = budget;
  budgetUpdates.note(participant);
}

/** What an update is announced for; slots that are busy elsewhere come and go like requests, without one. */
function shownOf({ tunnel, capabilities, limit, limitFrom }: Participant): string {
  return JSON.stringify([tunnel, capabilities, limit, limitFrom]);
}

function takeReport(
  context: OperationContext,
  participant: Participant,
  reported: ReportedLoad,
): void {
  const { machine } = participant;
  const limitBefore = machine?.limit;
  participant.reported = reported;
  updateLimit(participant, context.limits);
  // A declared limit stays, and no event is due; that of the machine may still be another one.
  if (machine?.limit !== limitBefore) wakeRooms(context, participant.roomCode, machine);
}

/** The hub itself read what a participant's model server reports. */
export function loadReported(
  context: OperationContext,
  participant: Participant,
  reported: ReportedLoad,
): void {
  // Its agent knows better.
  if (participant.tunnel.kind !== "closed") return;
  const before = shownOf(participant);
  takeReport(context, participant, reported);
  if (shownOf(participant) !== before) announceUpdate(context, participant);
}

/** Announces the changes that are due. */
export function announceLoadedModels(context: OperationContext): void {
  for (const participant of context.loadedUpdates.takeDue(context.nowMs())) {
    announceUpdate(context, participant);
  }
}

/** The hub itself read which models a participant's server has loaded. */
export function loadedModelsRead(
  context: OperationContext,
  participant: Participant,
  models: readonly string[] | undefined,
): void {
  // Its agent knows better.
  if (participant.tunnel.kind !== "closed") return;
  context.loadedUpdates.report(participant, models);
  announceLoadedModels(context);
}

function openTunnel(
  { tunnel }: Participant,
  { ready, readiness = ready ? "ready" : "down", reason = "" }: ReportedStatus,
  nowMs: number,
): Participant["tunnel"] {
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

/** The hub itself found out what a participant's provider can do. What the participant declared stays as declared. */
export function capabilitiesLearned(
  context: OperationContext,
  participant: Participant,
  learned: Readonly<Record<string, string>>,
): void {
  const before = JSON.stringify(participant.capabilities);
  mergeCapabilities(participant, learned);
  if (JSON.stringify(participant.capabilities) !== before) announceUpdate(context, participant);
}

function mergeCapabilities(
  participant: Participant,
  learned: Readonly<Record<string, string>>,
): void {
  const names = new Set(Object.keys(participant.capabilities));
  for (const [name, value] of Object.entries(learned)) {
    if (!isCapability(name, value)) continue;
    if (!names.has(name) && names.size >= maxCapabilities) continue;
    names.add(name);
    participant.learnedCapabilities[name] = value;
  }
  participant.capabilities = capabilitiesOf(participant);
}

/** What its model server is known to be; there is no problem with one that is ready. */
type Verdict = Omit<PathVerdict, "problem"> & { problem: string | undefined };

/**
 * A direct call or probe got an HTTP response. Contract §2.
 *
 * @param isLife - the participant has its endpoint probed for signs of life; else the provider responded, not it
 */
export function directResponded(
  context: OperationContext,
  participant: Participant,
  { readiness, problem = "", sinceMs }: Verdict,
  isLife = false,
): void {
  participant.lastContactAt = context.wallMs();
  participant.lastContactMs = context.nowMs();
  const { direct, status } = participant;
  const isSame =
    direct.kind === "answered" && direct.readiness === readiness && direct.problem === problem;
  const hasChanged =
    !isSame && setDirect(participant, { kind: "answered", readiness, problem, sinceMs });
  if (isLife) recordLife(context, participant);
  // One that is back was announced as it is now.
  if (hasChanged && !(isLife && status === "offline")) announceUpdate(context, participant);
}

export function directFailed(
  context: OperationContext,
  participant: Participant,
  reason: string,
): void {
  participant.lastContactMs = context.nowMs();
  const isSame = participant.direct.kind === "failed";
  const isSet = setDirect(participant, { kind: "failed", reason });
  if (isSet && !isSame) announceUpdate(context, participant);
}

/** @returns false when the hub may not dial it, whatever was under way */
function setDirect(participant: Participant, direct: Participant["direct"]): boolean {
  if (participant.direct.kind === "refused") return false;
  participant.direct = direct;
  updateTrial(participant);
  return true;
}

function isCapability(name: string, value: string): value is CapabilityValue {
  return (
    /^[A-Za-z][A-Za-z0-9]{0,39}$/.test(name) &&
    (value === "supported" || value === "unsupported" || value === "unknown")
  );
}

/** An agent refused a request for its budget: no request goes there until then. Contract §3, "Budgets". */
export function participantRests(
  context: OperationContext,
  participant: Participant,
  untilMs: number,
): void {
  participant.restsUntilMs = untilMs;
  context.budgetUpdates.note(participant);
}

/** Lets waiting requests go where a rest is over, and announces the changes that are due, which may be later. */
export function announceBudgets(context: OperationContext): void {
  const nowMs = context.nowMs();
  for (const { roomCode } of context.budgetUpdates.takeRested(nowMs)) {
    context.routingChanged(roomCode);
  }
  for (const participant of context.budgetUpdates.takeDue(nowMs)) {
    announceUpdate(context, participant);
  }
}
