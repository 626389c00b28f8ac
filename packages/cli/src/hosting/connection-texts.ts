import type { HubEvent, ParticipantSummary } from "@roomhub/protocol";
import { backText, canReplaceStandIn, lostText, notBackText } from "@roomhub/room-state";
import { safe } from "../terminal/text.ts";

interface Gap {
  sinceMs: number;
  /** requests that wait */
  streams: number;
}

/** What is said of participants whose connections are lost and come back, while their requests wait. */
export class ConnectionTexts {
  /** by participant id */
  readonly #gaps = new Map<string, Gap>();

  /** @returns undefined for an event that is about none of that */
  textOf(event: HubEvent): string | undefined {
    switch (event.type) {
      case "participant.updated":
        return this.#updated(event.participant, Date.parse(event.timestamp));
      case "participant.left":
        this.#gaps.delete(event.participantId);
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
    const gap = this.#gaps.get(id);
    const { resuming, connected, path } = connection;
    if (resuming !== undefined) {
      if (gap !== undefined) return undefined;
      const { streams, sinceMs } = resuming;
      this.#gaps.set(id, { sinceMs: nowMs - sinceMs, streams });
      return lostText(safe(id), streams);
    }
    if (gap === undefined) return undefined;
    this.#gaps.delete(id);
    const afterMs = nowMs - gap.sinceMs;
    return connected && path === "tunnel"
      ? backText(safe(id), afterMs, gap.streams)
      : notBackText(safe(id), afterMs);
  }

  /** Nothing else ends while the connection is lost. */
  #ended(id: string | null): void {
    const gap = id === null ? undefined : this.#gaps.get(id);
    if (gap !== undefined) gap.streams = Math.max(0, gap.streams - 1);
  }
}

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
