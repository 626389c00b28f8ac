import { updateLimit } from "../../domain/machine.ts";
import type { PaceSnapshot } from "../../domain/placement/pace.ts";
import { capabilitiesOf, type Participant } from "../../domain/participant.ts";
import { isComplete, updateTrial } from "../../domain/readiness.ts";
import type { OperationContext } from "../context.ts";

/**
 * What the home of a room knows of a participant beyond its registration, its secrets included: it goes to the room's next
 * home alone. Times are in ms from now, so that no clock is compared.
 */
export interface ParticipantState extends Pick<
  Participant,
  | "status"
  | "learnedCapabilities"
  | "refusesStreamUsage"
  | "reportsUsageItself"
  | "budget"
  | "returning"
  | "reported"
  | "lastSeenAt"
  | "lastContactAt"
> {
  authHeaders: Readonly<Record<string, string>>;
  instructions: string | undefined;
  /** base64 */
  machineDigest: string | undefined;
  /** It has a tunnel: its agent dials the next home. */
  hasTunnel: boolean;
  /** of a direct path that was tried */
  direct: Extract<Participant["direct"], { kind: "answered" | "failed" }> | undefined;
  loadedModels: readonly string[] | undefined;
  haveWorked: boolean;
  pace: PaceSnapshot;
  restsForMs: number | undefined;
  overloadedForMs: number | undefined;
  joinedAgoMs: number;
  usedAgoMs: number;
}

/** A participant as it is now. */
export function stateOf(
  { vault, nowMs }: Pick<OperationContext, "vault" | "nowMs">,
  participant: Participant,
): ParticipantState {
  const now = nowMs();
  const { machineDigest, direct, tunnel, restsUntilMs, overloadedUntilMs } = participant;
  return {
    status: participant.status,
    learnedCapabilities: participant.learnedCapabilities,
    refusesStreamUsage: participant.refusesStreamUsage,
    reportsUsageItself: participant.reportsUsageItself,
    budget: participant.budget,
    returning: participant.returning,
    reported: participant.reported,
    lastSeenAt: participant.lastSeenAt,
    lastContactAt: participant.lastContactAt,
    authHeaders: vault.headersFor(participant.key, participant.endpointOrigin),
    instructions: participant.config.instructions ?? undefined,
    machineDigest: machineDigest && Buffer.from(machineDigest).toString("base64"),
    hasTunnel: tunnel.kind !== "closed",
    direct: direct.kind === "answered" || direct.kind === "failed" ? direct : undefined,
    loadedModels: participant.loadedModels,
    haveWorked: participant.credentials.haveWorked,
    pace: participant.pace.snapshot(now),
    restsForMs: restsUntilMs === undefined ? undefined : restsUntilMs - now,
    overloadedForMs: overloadedUntilMs === undefined ? undefined : overloadedUntilMs - now,
    joinedAgoMs: now - participant.joinedMs,
    usedAgoMs: now - participant.lastUsedMs,
  };
}

/** Makes a participant that was restored from its registration what it was at the home before. */
export function restoreState(
  { vault, limits, paths, nowMs }: OperationContext,
  participant: Participant,
  state: ParticipantState,
): void {
  const now = nowMs();
  const { authHeaders, instructions, machineDigest, hasTunnel, direct } = state;
  const { restsForMs, overloadedForMs } = state;
  vault.put(participant.key, participant.endpointOrigin, authHeaders);
  if (instructions !== undefined) participant.config = { ...participant.config, instructions };
  participant.machineDigest = machineDigest ? Buffer.from(machineDigest, "base64") : undefined;
  participant.status = state.status;
  participant.learnedCapabilities = state.learnedCapabilities;
  participant.capabilities = capabilitiesOf(participant);
  participant.refusesStreamUsage = state.refusesStreamUsage;
  participant.reportsUsageItself = state.reportsUsageItself;
  participant.credentials.haveWorked = state.haveWorked;
  participant.pace.restore(state.pace, now);
  participant.budget = state.budget;
  participant.reported = state.reported;
  participant.loadedModels = state.loadedModels;
  participant.lastSeenAt = state.lastSeenAt;
  participant.lastContactAt = state.lastContactAt;
  participant.restsUntilMs = restsForMs === undefined ? undefined : now + restsForMs;
  participant.overloadedUntilMs = overloadedForMs === undefined ? undefined : now + overloadedForMs;
  participant.joinedMs = now - state.joinedAgoMs;
  participant.lastUsedMs = now - state.usedAgoMs;
  // Its agent says the rest.
  participant.returning = hasTunnel ? nothingWithheld : state.returning;
  const { returning } = participant;
  if (returning === undefined || isComplete(returning)) {
    const path = paths.directPathOf(participant);
    const known = direct?.kind === "answered" ? { ...direct, sinceMs: now } : direct;
    participant.direct = path.kind === "untried" ? (known ?? path) : path;
  }
  updateLimit(participant, limits);
  updateTrial(participant);
}

const nothingWithheld = { authHeaders: false, instructions: false, machineSecret: false };
