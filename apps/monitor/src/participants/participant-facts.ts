import type { ParticipantSummary, Readiness } from "@roomhub/protocol";
import { contextText, featureWords, type Slots } from "@roomhub/room-state";
import { agoText, countText, stopwatchText } from "../parts/figure-text.ts";

/** Participants whose model servers share one machine's slots; undefined for one that shares none. */
export interface MachineGroup {
  machineId: string | undefined;
  participants: ParticipantSummary[];
}

/** In join order of each group's first participant. A participant that shares no machine is a group by itself. */
export function byMachine(participants: Iterable<ParticipantSummary>): MachineGroup[] {
  const groups: MachineGroup[] = [];
  const known = new Map<string, MachineGroup>();
  for (const participant of participants) {
    const machineId = participant.load.machine?.id;
    const group = machineId === undefined ? undefined : known.get(machineId);
    if (group !== undefined) {
      group.participants.push(participant);
      continue;
    }
    const made = { machineId, participants: [participant] };
    groups.push(made);
    if (machineId !== undefined) known.set(machineId, made);
  }
  return groups;
}

const readinessWords: Record<Exclude<Readiness, "ready">, string> = {
  loading: "loading its model",
  "needs-credentials": "its model server refuses its credentials",
  down: "its model server does not respond",
  "wrong-model": "its model server serves another model now",
};

/**
 * Why it takes no request now, such as `offline, seen 5 min ago`.
 *
 * @returns undefined when it can: then its line says all there is
 */
export function troubleText(participant: ParticipantSummary, nowMs: number): string | undefined {
  const { status, lastSeen, connection } = participant;
  const { path, connected, readiness, resuming, problem } = connection;
  // While it is online its last sign of life is not sent.
  if (status === "offline") return `offline, seen ${agoText(nowMs - lastSeen)}`;
  if (resuming !== undefined) return "waiting for its connection";
  // The hub says it in full.
  if (problem !== undefined) return problem;
  if (path === "none") return "not connected";
  if (path === "tunnel" && !connected) return "tunnel lost";
  return readiness === "ready" ? undefined : (readinessWords[readiness] ?? readiness);
}

type Condition = "good" | "busy" | "bad" | "off";

/** For the colour of a line; its words say the same. */
export function conditionOf(
  { status, connection }: ParticipantSummary,
  { active, elsewhere, limit }: Slots,
): Condition {
  if (status === "offline" || connection.path === "none") return "off";
  if (connection.readiness === "loading") return "busy";
  if (connection.readiness !== "ready" || connection.problem !== undefined) return "bad";
  return active + elsewhere >= limit ? "busy" : "good";
}

/** What there is to know besides its line: its id, machine, connection, budget and capabilities. */
export function factTexts(participant: ParticipantSummary, nowMs: number): string[] {
  const { id, model, connection, loadedModels, standIn, batches, context, features } = participant;
  const tokens = contextText(context);
  const path = { tunnel: ["through its tunnel"], direct: ["called by the hub"], none: [] };
  const budget = budgetText(participant, nowMs);
  return [
    id,
    ...specTexts(participant),
    ...path[connection.path],
    ...(tokens === "" ? [] : [`context ${tokens}`]),
    ...featureWords(features),
    ...(participant.answersAs === undefined ? [] : [`answers as ${participant.answersAs}`]),
    ...(loadedModels?.includes(model) === true ? ["model loaded"] : []),
    ...(standIn === true ? ["leaves requests for any participant to the others"] : []),
    ...(batches === false ? ["no batches"] : []),
    ...(typeof batches === "object" ? [`batches from ${batches.hours} h`] : []),
    ...(budget === undefined ? [] : [`budget: ${budget}`]),
    ...capabilityTexts(participant),
  ];
}

/** What it supports, in the hub's words, such as `chatCompletions`; unknown ones have a question mark. */
function capabilityTexts({ capabilities }: ParticipantSummary): string[] {
  return Object.entries(capabilities)
    .filter(([, value]) => value === "supported" || value === "unknown")
    .map(([name, value]) => (value === "unknown" ? `${name} ?` : name));
}

/** The machine's parts, such as `RTX 4090` or `vram 24 GB`. */
function specTexts({ specs }: ParticipantSummary): string[] {
  return Object.entries(specs)
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .slice(0, 8)
    .map(([name, value]) => {
      if (typeof value === "string") return value.slice(0, 60);
      return `${name} ${String(value)}${name === "vram" || name === "ram" ? " GB" : ""}`;
    });
}

/** @returns undefined when its agent reports no budget */
function budgetText({ budget }: ParticipantSummary, nowMs: number): string | undefined {
  if (budget === undefined) return undefined;
  const { tokensPerDay, remainingTokens, requestsPerMinute, resetAt } = budget;
  const { batchTokensPerDay, remainingBatchTokens } = budget;
  const parts: string[] = [];
  if (tokensPerDay !== undefined) {
    const left = countText(remainingTokens ?? tokensPerDay);
    parts.push(`${left} of ${countText(tokensPerDay)} tokens left today`);
  }
  if (batchTokensPerDay !== undefined) {
    const left = countText(remainingBatchTokens ?? batchTokensPerDay);
    parts.push(`${left} of ${countText(batchTokensPerDay)} batch tokens left today`);
  }
  if (requestsPerMinute !== undefined) parts.push(`${countText(requestsPerMinute)} requests/min`);
  if (resetAt !== undefined && resetAt > nowMs) {
    parts.push(`renewed in ${stopwatchText(resetAt - nowMs)}`);
  }
  return parts.join(", ");
}
