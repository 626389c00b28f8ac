import type { HubEvent } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { isFailure } from "../terminal/event-line.ts";
import { createRoomTable } from "../terminal/request-table.ts";
import { createRowFeed } from "../terminal/row-feed.ts";
import type { RunningHub } from "../capabilities.ts";
import { ConnectionTexts, StandInTexts } from "./connection-texts.ts";
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
      return `${safe(id)} joined with ${safe(model)}`;
    }
    case "participant.left":
      return `${safe(event.participantId)} left`;
    case "participant.offline":
      return `${safe(event.participantId)} is offline`;
    case "room.created":
    case "participant.updated":
    case "llm.request":
    case "llm.complete":
    case "llm.error":
      return undefined;
  }
}
