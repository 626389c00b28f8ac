import type { HubEvent, ParticipantSummary } from "@roomhub/protocol";
import {
  backText,
  canReplaceStandIn,
  joinedText,
  leftText,
  lostText,
  notBackText,
  offlineText,
} from "@roomhub/room-state";
import type { CliContext } from "../context.ts";
import { isFailure } from "../terminal/event-line.ts";
import { createRoomTable } from "../terminal/request-table.ts";
import { createRowFeed } from "../terminal/row-feed.ts";
import type { RunningHub } from "../capabilities.ts";
import { clockTime, colorsFor, safe, writeJson } from "../terminal/text.ts";

interface ShownOptions {
  json?: boolean;
  quiet?: boolean;
  /** The hub's log has a line for each request. */
  isLogged?: boolean;
  /** the id of the demo participant, which joined before */
  standIn?: string | undefined;
}

/**
 * Prints a line per finished request, unless the hub logs them, and participants joining and leaving, losing their
 * connection and back, taking requests over from the demo, from the events of a hub in this process.
 *
 * @returns stops watching and flushes pending lines
 */
export function watchRequests(
  context: CliContext,
  hub: Pick<RunningHub, "watch">,
  room: string,
  { json = false, quiet = false, isLogged = false, standIn }: ShownOptions,
): () => void {
  if (json) {
    return hub.watch(room, (events) => {
      for (const event of events) writeJson(context.stdout, event);
    });
  }
  if (quiet) return () => {};
  const colors = colorsFor(context, context.stdout);
  const requestRow = createRoomTable(context.stdout, colors);
  const feed = createRowFeed(context, context.stdout);
  const connections = new ConnectionTexts();
  const standIns = new StandInTexts(standIn);
  const stop = hub.watch(room, (events) => {
    for (const event of events) {
      const connection = connections.textOf(event);
      if (isFinished(event)) {
        if (!isLogged) feed.row({ render: () => requestRow(event), isFailed: isFailure(event) });
        continue;
      }
      for (const what of [connection ?? presenceText(event), standIns.textOf(event)]) {
        if (what === undefined) continue;
        feed.line(colors.dim(`${clockTime(Date.parse(event.timestamp))}  ${what}`));
      }
    }
  });
  return () => {
    stop();
    feed.close();
  };
}

function isFinished(event: HubEvent): event is HubEvent & { type: "llm.complete" | "llm.error" } {
  return event.type === "llm.complete" || event.type === "llm.error";
}

/** A participant joining or leaving; undefined for any other event. */
function presenceText(event: HubEvent): string | undefined {
  switch (event.type) {
    case "participant.joined": {
      const { id, model } = event.participant;
      return joinedText(safe(id), safe(model));
    }
    case "participant.left":
      return leftText(safe(event.participantId));
    case "participant.offline":
      return offlineText(safe(event.participantId));
    default:
      return undefined;
  }
}

/** Lines about interrupted participants, whose requests wait until the connection is resumed or given up. */
class ConnectionTexts {
  /** by participant id; `streams` are requests that wait */
  readonly #interruptions = new Map<string, { sinceMs: number; streams: number }>();

  /** @returns undefined for any other event */
  textOf(event: HubEvent): string | undefined {
    if (event.type === "participant.updated") {
      return this.#updated(event.participant, Date.parse(event.timestamp));
    }
    if (event.type === "participant.left") this.#interruptions.delete(event.participantId);
    if (event.type === "llm.error") this.#ended(event.participantId);
    return undefined;
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
class StandInTexts {
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
      default:
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
