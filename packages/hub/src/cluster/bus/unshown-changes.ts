import type { EventName, EventPayloads } from "@roomhub/protocol";
import type { Participant } from "../../domain/participant.ts";
import { participantView } from "../../domain/views.ts";
import type { BusMessage, ShownEvent } from "./bus-message.ts";

/** For the event to come, which is on its way as the entry was. Contract §8. */
const graceMs = 1_000;

export type LearnedChange = "came" | "changed" | "left";

export interface UnshownChangesOptions {
  nowMs: () => number;
  /** epoch ms */
  wallMs: () => number;
  /** Whether anyone here watches the room. */
  isWatched: (roomCode: string) => boolean;
  /** To the watchers here alone. */
  show: (roomCode: string, event: ShownEvent) => void;
}

/** With the revision of the entry that the event shows, where it is known. */
type ShownChange = Pick<BusMessage, "name" | "payload" | "revision">;

interface Unshown {
  participant: Participant;
  change: LearnedChange;
  /** of its entry */
  revision: number;
  sinceMs: number;
}

/**
 * What this hub learned of other hubs' participants from their entries, until an event shows it. An event that was lost,
 * because the bus was away or its hub died, is made up for here: or watchers would never know.
 */
export class UnshownChanges {
  readonly #options: UnshownChangesOptions;
  /** by room and id, the oldest first */
  readonly #unshown = new Map<string, Unshown>();
  /** changes of which the event came before the entry, by room and id */
  readonly #shownFirst = new Map<string, { change: LearnedChange; shownMs: number }>();

  constructor(options: UnshownChangesOptions) {
    this.#options = options;
  }

  /** The replica has it from the directory. */
  learned(participant: Participant, change: LearnedChange): void {
    const { nowMs, isWatched } = this.#options;
    const { roomCode, id } = participant;
    if (!isWatched(roomCode)) return;
    const key = keyOf(roomCode, id);
    if (this.#shownFirst.get(key)?.change === change) return void this.#shownFirst.delete(key);
    const before = this.#unshown.get(key);
    this.#unshown.delete(key);
    if (before?.change === "came" && change === "left") return;
    const both = before?.change === "came" && change === "changed" ? "came" : change;
    const revision = participant.remote?.revision ?? 0;
    const sinceMs = before?.sinceMs ?? nowMs();
    this.#unshown.set(key, { participant, change: both, revision, sinceMs });
  }

  /** An event of another hub reached the watchers here. */
  shown(roomCode: string, { name, payload, revision }: ShownChange): void {
    if (!name.startsWith("participant.")) return;
    const { participant, participantId } = payload as {
      participant?: { id: string };
      participantId?: string;
    };
    const key = keyOf(roomCode, participant?.id ?? participantId ?? "");
    const learned = this.#unshown.get(key);
    // It shows an earlier state than the one that was learned: the event of that one may be lost.
    if (learned !== undefined && isBefore(revision, learned))
      return void (learned.change = "changed");
    this.#unshown.delete(key);
    // It names the participant and does not show it, so it may come before the entry.
    const change = name === "participant.left" ? "left" : "changed";
    if (participant === undefined && learned?.change !== change) {
      this.#shownFirst.set(key, { change, shownMs: this.#options.nowMs() });
    }
  }

  /** Shows what no event has shown in time. */
  tick(): void {
    const { nowMs, wallMs, show } = this.#options;
    const dueMs = nowMs() - graceMs;
    for (const [key, { participant, change, sinceMs }] of this.#unshown) {
      if (sinceMs > dueMs) continue;
      this.#unshown.delete(key);
      const timestamp = new Date(wallMs()).toISOString();
      show(participant.roomCode, { timestamp, ...eventOf(participant, change, nowMs()) });
    }
    for (const [key, { shownMs }] of this.#shownFirst) {
      if (shownMs <= dueMs) this.#shownFirst.delete(key);
    }
  }
}

function isBefore(revision: number | undefined, learned: Unshown): boolean {
  return revision !== undefined && learned.change !== "left" && revision < learned.revision;
}

/** As it is now. */
function eventOf(participant: Participant, change: LearnedChange, nowMs: number) {
  const { id: participantId, nickname } = participant;
  switch (change) {
    case "came":
      return event("participant.joined", { participant: participantView(participant, nowMs) });
    case "changed":
      return event("participant.updated", { participant: participantView(participant, nowMs) });
    case "left":
      return event("participant.left", { participantId, nickname });
  }
}

function event<Name extends EventName>(name: Name, payload: EventPayloads[Name]) {
  return { name, payload };
}

function keyOf(roomCode: string, id: string): string {
  return `${roomCode} ${id}`;
}
