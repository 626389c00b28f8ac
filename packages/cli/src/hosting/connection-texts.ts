import type { HubEvent, ParticipantSummary } from "@roomhub/protocol";
import { backText, lostText, notBackText } from "@roomhub/room-state";
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
