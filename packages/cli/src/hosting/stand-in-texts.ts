import type { HubEvent, ParticipantSummary } from "@roomhub/protocol";
import { canReplaceStandIn } from "@roomhub/room-state";
import { safe } from "../terminal/text.ts";

/** The lines about a stand-in: it leaves requests for `*` to another participant, or serves them again. */
export class StandInTexts {
  #standIn: string | undefined;
  /** ids of the participants that can serve instead of it */
  readonly #others = new Set<string>();

  /** @param standIn - its id; undefined for none */
  constructor(standIn: string | undefined) {
    this.#standIn = standIn;
  }

  /** @returns undefined for an event that changes neither */
  textOf(event: HubEvent): string | undefined {
    switch (event.type) {
      case "participant.joined":
      case "participant.updated":
        return this.#shown(event.participant);
      case "participant.left":
        if (event.participantId === this.#standIn) this.#standIn = undefined;
        return this.#lost(event.participantId);
      case "participant.offline":
        return this.#lost(event.participantId);
      case "room.created":
      case "llm.request":
      case "llm.complete":
      case "llm.error":
        return undefined;
    }
  }

  #shown(participant: ParticipantSummary): string | undefined {
    const { id } = participant;
    if (!canReplaceStandIn(participant)) return this.#lost(id);
    const isFirst = this.#others.size === 0;
    this.#others.add(id);
    if (!isFirst || this.#standIn === undefined) return undefined;
    return `${safe(this.#standIn)} leaves requests for * to ${safe(id)}`;
  }

  #lost(id: string): string | undefined {
    const wasLast = this.#others.delete(id) && this.#others.size === 0;
    if (!wasLast || this.#standIn === undefined) return undefined;
    return `${safe(this.#standIn)} serves requests for * again`;
  }
}
