import type { HubEvent, ParticipantSummary } from "@roomhub/protocol";
import { backText, canReplaceStandIn, lostText, notBackText } from "@roomhub/room-state";
import { safe } from "../terminal/text.ts";

interface Interruption {
  sinceMs: number;
  /** requests that wait */
  streams: number;
}

/** Lines about interrupted participants, whose requests wait until the connection is resumed or given up. */
export class ConnectionTexts {
  /** by participant id */
  readonly #interruptions = new Map<string, Interruption>();

  /** @returns undefined for any other event */
  textOf(event: HubEvent): string | undefined {
    switch (event.type) {
      case "participant.updated":
        return this.#updated(event.participant, Date.parse(event.timestamp));
      case "participant.left":
        this.#interruptions.delete(event.participantId);
        return undefined;
      case "llm.error":
        this.#ended(event.participantId);
        return undefined;
      case "room.created":
      case "participant.joined":
      case "participant.offline":
      case "llm.request":
      case "llm.complete":
        return undefined;
    }
  }

  #updated({ id, connection }: ParticipantSummary, nowMs: number): string | undefined {
    const interruption = this.#interruptions.get(id);
    const { resuming, connected, path } = connection;
    if (resuming !== undefined) {
      if (interruption !== undefined) return undefined;
      const { streams, sinceMs } = resuming;
      this.#interruptions.set(id, { sinceMs: nowMs - sinceMs, streams });
      return lostText(safe(id), streams);
    }
    if (interruption === undefined) return undefined;
    this.#interruptions.delete(id);
    const afterMs = nowMs - interruption.sinceMs;
    return connected && path === "tunnel"
      ? backText(safe(id), afterMs, interruption.streams)
      : notBackText(safe(id), afterMs);
  }

  /** While a participant is interrupted, its requests can only fail. */
  #ended(id: string | null): void {
    const interruption = id === null ? undefined : this.#interruptions.get(id);
    if (interruption !== undefined) interruption.streams = Math.max(0, interruption.streams - 1);
  }
}

/** Lines about a stand-in that leaves requests for `*` to another participant, or serves them again. */
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
