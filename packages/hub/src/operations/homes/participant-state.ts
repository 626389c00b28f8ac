import { updateFacts } from "../../domain/needs/model-facts.ts";
import { updateLimit } from "../../domain/slots.ts";
import type { PaceSnapshot } from "../../domain/placement/pace.ts";
import {
  capabilitiesOf,
  type Learned,
  type Load,
  type Participant,
  type Paths,
  type Presence,
} from "../../domain/participant.ts";
import { isComplete, updateTrial } from "../../domain/readiness.ts";
import type { OperationContext } from "../context.ts";

/**
 * What the home of a room knows of a participant beyond its registration, its secrets included: it goes to the room's next
 * home alone. Times are in ms from now, so that no clock is compared.
 */
export interface ParticipantState
  extends
    Pick<
      Learned,
      | "refusesStreamUsage"
      | "reportsUsageItself"
      | "reported"
      | "facts"
      | "measured"
      | "bytesPerToken"
      | "loadTookMs"
    >,
    Pick<Presence, "status" | "returning" | "lastSeenAt">,
    Pick<Load, "budget">,
    Pick<Paths, "lastContactAt"> {
  learnedCapabilities: Learned["found"];
  authHeaders: Readonly<Record<string, string>>;
  instructions: string | undefined;
  /** base64 */
  machineDigest: string | undefined;
  /** It has a tunnel: its agent dials the next home. */
  hasTunnel: boolean;
  /** of a direct path that was tried */
  direct: Extract<Paths["direct"], { kind: "answered" | "failed" }> | undefined;
  loadedModels: readonly string[] | undefined;
  /** the context that an error named */
  refused: { tokens: number; forMs: number } | undefined;
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
  const { machineDigest } = participant;
  const { refused } = participant.learned;
  const { direct, tunnel } = participant.paths;
  const { restsUntilMs, overloadedUntilMs } = participant.load;
  return {
    status: participant.presence.status,
    learnedCapabilities: participant.learned.found,
    refusesStreamUsage: participant.learned.refusesStreamUsage,
    reportsUsageItself: participant.learned.reportsUsageItself,
    budget: participant.load.budget,
    returning: participant.presence.returning,
    reported: participant.learned.reported,
    facts: participant.learned.facts,
    measured: participant.learned.measured,
    refused: refused && { tokens: refused.tokens, forMs: refused.untilMs - now },
    bytesPerToken: participant.learned.bytesPerToken,
    loadTookMs: participant.learned.loadTookMs,
    lastSeenAt: participant.presence.lastSeenAt,
    lastContactAt: participant.paths.lastContactAt,
    authHeaders: vault.headersFor(participant.key, participant.endpointOrigin),
    instructions: participant.config.instructions ?? undefined,
    machineDigest: machineDigest && Buffer.from(machineDigest).toString("base64"),
    hasTunnel: tunnel.kind !== "closed",
    direct: direct.kind === "answered" || direct.kind === "failed" ? direct : undefined,
    loadedModels: participant.learned.loadedModels,
    haveWorked: participant.learned.credentials.haveWorked,
    pace: participant.learned.pace.snapshot(now),
    restsForMs: restsUntilMs === undefined ? undefined : restsUntilMs - now,
    overloadedForMs: overloadedUntilMs === undefined ? undefined : overloadedUntilMs - now,
    joinedAgoMs: now - participant.presence.joinedMs,
    usedAgoMs: now - participant.presence.lastUsedMs,
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
  const { restsForMs, overloadedForMs, refused } = state;
  vault.put(participant.key, participant.endpointOrigin, authHeaders);
  if (instructions !== undefined) participant.config = { ...participant.config, instructions };
  participant.machineDigest = machineDigest ? Buffer.from(machineDigest, "base64") : undefined;
  participant.presence.status = state.status;
  participant.learned.found = state.learnedCapabilities;
  participant.learned.capabilities = capabilitiesOf(
    participant.declaredCapabilities,
    participant.learned.found,
  );
  participant.learned.refusesStreamUsage = state.refusesStreamUsage;
  participant.learned.reportsUsageItself = state.reportsUsageItself;
  participant.learned.credentials.haveWorked = state.haveWorked;
  participant.learned.pace.restore(state.pace, now);
  participant.load.budget = state.budget;
  participant.learned.reported = state.reported;
  participant.learned.facts = state.facts;
  participant.learned.measured = state.measured;
  participant.learned.refused = refused && {
    tokens: refused.tokens,
    untilMs: now + refused.forMs,
  };
  participant.learned.bytesPerToken = state.bytesPerToken;
  participant.learned.loadTookMs = state.loadTookMs;
  updateFacts(participant);
  participant.learned.loadedModels = state.loadedModels;
  participant.presence.lastSeenAt = state.lastSeenAt;
  participant.paths.lastContactAt = state.lastContactAt;
  participant.load.restsUntilMs = restsForMs === undefined ? undefined : now + restsForMs;
  participant.load.overloadedUntilMs =
    overloadedForMs === undefined ? undefined : now + overloadedForMs;
  participant.presence.joinedMs = now - state.joinedAgoMs;
  participant.presence.lastUsedMs = now - state.usedAgoMs;
  // Its agent says the rest.
  participant.presence.returning = hasTunnel ? nothingWithheld : state.returning;
  const { returning } = participant.presence;
  if (returning === undefined || isComplete(returning)) {
    const path = paths.directPathOf(participant);
    const known = direct?.kind === "answered" ? { ...direct, sinceMs: now } : direct;
    participant.paths.direct = path.kind === "untried" ? (known ?? path) : path;
  }
  updateLimit(participant, limits);
  updateTrial(participant);
}

const nothingWithheld = { authHeaders: false, instructions: false, machineSecret: false };
