import type { ParticipantSummary, Readiness } from "@roomhub/protocol";
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

const readinessWords: Record<Readiness, string> = {
  ready: "ready for requests",
  loading: "loading its model",
  "needs-credentials": "its model server refuses its credentials",
  down: "its model server does not respond",
  "wrong-model": "its model server serves another model now",
};

export function readinessText({ readiness, resuming }: ParticipantSummary["connection"]): string {
  if (resuming !== undefined) return "waiting for its connection";
  return readinessWords[readiness] ?? readiness;
}

/** How requests get there: `through its tunnel`, `called by the hub`, `not connected`. */
export function connectionText({ connection }: ParticipantSummary): string {
  if (connection.path === "tunnel")
    return connection.connected ? "through its tunnel" : "tunnel lost";
  return connection.path === "direct" ? "called by the hub" : "not connected";
}

export type Condition = "good" | "busy" | "bad" | "off";

/** For the colour of a card; its words say the same. */
export function conditionOf({ status, connection, load }: ParticipantSummary): Condition {
  if (status === "offline" || connection.path === "none") return "off";
  if (connection.readiness === "loading") return "busy";
  if (connection.readiness !== "ready" || connection.problem !== undefined) return "bad";
  return load.active >= load.limit ? "busy" : "good";
}

/** What it supports, in the hub's words, such as `chatCompletions`; unknown ones have a question mark. */
export function capabilityTexts({ capabilities }: ParticipantSummary): string[] {
  return Object.entries(capabilities)
    .filter(([, value]) => value === "supported" || value === "unknown")
    .map(([name, value]) => (value === "unknown" ? `${name} ?` : name));
}

/** The machine's parts, such as `RTX 4090` or `vram 24 GB`. */
export function specTexts({ specs }: ParticipantSummary): string[] {
  return Object.entries(specs)
    .filter(([, value]) => typeof value === "string" || typeof value === "number")
    .slice(0, 8)
    .map(([name, value]) => {
      if (typeof value === "string") return value.slice(0, 60);
      return `${name} ${String(value)}${name === "vram" || name === "ram" ? " GB" : ""}`;
    });
}

/** @returns undefined when its agent reports no budget */
export function budgetText({ budget }: ParticipantSummary, nowMs: number): string | undefined {
  if (budget === undefined) return undefined;
  const { tokensPerDay, remainingTokens, requestsPerMinute, resetAt } = budget;
  const parts: string[] = [];
  if (tokensPerDay !== undefined) {
    const left = countText(remainingTokens ?? tokensPerDay);
    parts.push(`${left} of ${countText(tokensPerDay)} tokens left today`);
  }
  if (requestsPerMinute !== undefined) parts.push(`${countText(requestsPerMinute)} requests/min`);
  if (resetAt !== undefined && resetAt > nowMs) {
    parts.push(`renewed in ${stopwatchText(resetAt - nowMs)}`);
  }
  return parts.join(", ");
}

/** `online`, or `offline, seen 5 min ago`. While it is online its last sign of life is not sent. */
export function statusText({ status, lastSeen }: ParticipantSummary, nowMs: number): string {
  return status === "offline" ? `${status}, seen ${agoText(nowMs - lastSeen)}` : status;
}
