import { updateFacts } from "../../domain/needs/model-facts.ts";
import { updateLimit } from "../../domain/slots.ts";
import {
  capabilitiesOf,
  type Learned,
  type Load,
  type Participant,
  type Presence,
  type Returning,
} from "../../domain/participant.ts";
import { isComplete, updateTrial } from "../../domain/readiness.ts";
import type { OperationContext } from "../context.ts";

/**
 * What the home of a room knows of a participant beyond its registration, its secrets included: it goes to the room's next
 * home alone.
 */
export type ParticipantState = ReturnType<typeof stateOf>;

/** A participant as it is now. Times of this hub's clock count from `atMs`. */
export function stateOf(
  { vault, nowMs }: Pick<OperationContext, "vault" | "nowMs">,
  participant: Participant,
) {
  const { machineDigest, learned, load, paths, presence } = participant;
  const atMs = nowMs();
  return {
    atMs,
    learned: {
      found: learned.found,
      refusesStreamUsage: learned.refusesStreamUsage,
      reportsUsageItself: learned.reportsUsageItself,
      reported: learned.reported,
      loadedModels: learned.loadedModels,
      facts: learned.facts,
      measured: learned.measured,
      refused: learned.refused,
      bytesPerToken: learned.bytesPerToken,
      loadTookMs: learned.loadTookMs,
    },
    haveWorked: learned.credentials.haveWorked,
    pace: learned.pace.snapshot(atMs),
    load: {
      budget: load.budget,
      restsUntilMs: load.restsUntilMs,
      overloadedUntilMs: load.overloadedUntilMs,
    },
    presence: {
      status: presence.status,
      returning: presence.returning,
      joinedMs: presence.joinedMs,
      lastSeenAt: presence.lastSeenAt,
      lastUsedMs: presence.lastUsedMs,
    },
    lastContactAt: paths.lastContactAt,
    authHeaders: vault.headersFor(participant.key, participant.endpointOrigin),
    instructions: participant.config.instructions ?? undefined,
    /** base64 */
    machineDigest: machineDigest && Buffer.from(machineDigest).toString("base64"),
    /** Its agent dials the next home. */
    hasTunnel: paths.tunnel.kind !== "closed",
    direct: paths.direct,
  };
}

/** Makes a participant that was restored from its registration what it was at the home before. */
export function restoreState(
  { vault, limits, paths, nowMs }: OperationContext,
  participant: Participant,
  state: ParticipantState,
): void {
  const { learned, load, presence } = participant;
  const { authHeaders, instructions, machineDigest, hasTunnel, direct } = state;
  const now = nowMs();
  const here = (ms: number) => ms - state.atMs + now;
  const until = (ms: number | undefined) => (ms === undefined ? undefined : here(ms));
  vault.put(participant.key, participant.endpointOrigin, authHeaders);
  if (instructions !== undefined) participant.config = { ...participant.config, instructions };
  participant.machineDigest = machineDigest ? Buffer.from(machineDigest, "base64") : undefined;
  const { refused } = state.learned;
  Object.assign(learned, state.learned, {
    refused: refused && { tokens: refused.tokens, untilMs: here(refused.untilMs) },
    capabilities: capabilitiesOf(participant.declaredCapabilities, state.learned.found),
  } satisfies Partial<Learned>);
  learned.credentials.haveWorked = state.haveWorked;
  learned.pace.restore(state.pace, now);
  updateFacts(participant);
  Object.assign(load, state.load, {
    restsUntilMs: until(state.load.restsUntilMs),
    overloadedUntilMs: until(state.load.overloadedUntilMs),
  } satisfies Partial<Load>);
  Object.assign(presence, state.presence, {
    joinedMs: here(state.presence.joinedMs),
    lastUsedMs: here(state.presence.lastUsedMs),
    // Its agent says the rest.
    returning: hasTunnel ? nothingWithheld : state.presence.returning,
  } satisfies Partial<Presence>);
  participant.paths.lastContactAt = state.lastContactAt;
  if (presence.returning === undefined || isComplete(presence.returning)) {
    const path = paths.directPathOf(participant);
    const isTried = direct.kind === "answered" || direct.kind === "failed";
    const known = direct.kind === "answered" ? { ...direct, sinceMs: now } : direct;
    participant.paths.direct = path.kind === "untried" && isTried ? known : path;
  }
  updateLimit(participant, limits);
  updateTrial(participant);
}

const nothingWithheld: Returning = {
  authHeaders: false,
  instructions: false,
  machineSecret: false,
};
