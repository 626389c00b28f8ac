import type { HubEvent } from "@roomhub/protocol";
import type { CliContext } from "./context.ts";
import { createRoomTable } from "./request-table.ts";
import { clockTime, colorsFor, safe, writeJson } from "./text.ts";

/** What a hub says as it ends is under way already, in this same process. */
const lastEventsMs = 1_000;

/** Somebody who watches a room. */
export interface RequestWatch {
  /** Rejects when the room cannot be watched. */
  over: Promise<void>;
  /** Resolves when all is shown that the hub told before it closed. */
  hubClosed: () => Promise<void>;
}

/**
 * One line per finished request of a room, and who comes and goes. A hub that stops lets running requests finish, so
 * this goes on until the hub itself has ended the stream.
 */
export function watchRequests(
  context: CliContext,
  { hubUrl, room }: { hubUrl: string; room: string },
  options: { json?: boolean; quiet?: boolean },
): RequestWatch {
  const watching = new AbortController();
  const stop = () => watching.abort();
  let isOpen = false;
  let isHubClosed = false;
  const events = context.createClient(hubUrl).events(room, {
    signal: watching.signal,
    onOpen: () => {
      isOpen = true;
    },
    onDisconnect: () => {
      isOpen = false;
      if (isHubClosed) stop();
    },
  });
  const over = showEvents(context, events, options);
  return {
    over,
    async hubClosed() {
      isHubClosed = true;
      if (!isOpen) stop();
      const cancel = context.after(lastEventsMs, stop);
      // Of a hub that is gone, how the stream to it broke is no news.
      await over.catch(() => {});
      cancel();
    },
  };
}

async function showEvents(
  context: CliContext,
  events: AsyncIterable<HubEvent>,
  { json = false, quiet = false }: { json?: boolean; quiet?: boolean },
): Promise<void> {
  const colors = colorsFor(context, context.stdout);
  const requestRow = createRoomTable(context.stdout, colors);
  for await (const event of events) {
    if (json) writeJson(context.stdout, event);
    else if (!quiet) {
      const line = isOver(event) ? requestRow(event) : joinedLine(event);
      if (line !== undefined) context.stdout.write(`${isOver(event) ? line : colors.dim(line)}\n`);
    }
  }
}

function isOver(event: HubEvent): event is HubEvent & { type: "llm.complete" | "llm.error" } {
  return event.type === "llm.complete" || event.type === "llm.error";
}

/** Who comes and goes; undefined for any other event. */
function joinedLine(event: HubEvent): string | undefined {
  const time = clockTime(Date.parse(event.timestamp));
  switch (event.type) {
    case "participant.joined": {
      const { id, model } = event.participant;
      return `${time}  ${safe(id)} joined with ${safe(model)}`;
    }
    case "participant.left":
      return `${time}  ${safe(event.participantId)} left`;
    case "participant.offline":
      return `${time}  ${safe(event.participantId)} is offline`;
    default:
      return undefined;
  }
}
