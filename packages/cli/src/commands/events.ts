import type { HubEvent } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { eventLine, isFailure, streamReports } from "../terminal/event-line.ts";
import { type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { createRowFeed, type RowFeed } from "../terminal/row-feed.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { type Colors, colorsFor, writeJson } from "../terminal/text.ts";

interface EventsOptionValues extends HubOptionValues {
  quiet?: boolean;
}

export function addEventsCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("events")
    .hubOptions()
    .quietOption()
    .argument("[room]", "room code or invite URL (default: the whole hub)")
    .examples("roomhub events ABC234 --json | jq -c '.metrics // empty'")
    .action((room: string | undefined, options: EventsOptionValues) =>
      watchEvents(context, room, options),
    );
}

/** Runs until stopped. A disconnected stream is reported on stderr and opened again. */
async function watchEvents(
  context: CliContext,
  room: string | undefined,
  options: EventsOptionValues,
): Promise<void> {
  const { json = false, quiet = false } = options;
  const invite = room === undefined ? undefined : inviteOf(room, options);
  const hubUrl = invite?.hubUrl ?? options.hub;
  const client = context.createClient(hubUrl);
  const colors = colorsFor(context, context.stdout);
  const feed = createRowFeed(context, context.stdout);
  const say = (text: string) => {
    feed.flush();
    context.stderr.write(`${text}\n`);
  };
  const reports = streamReports(say);
  let wasBroken = false;
  await untilStopped(context, async (signal) => {
    const events = client.events(invite?.room, {
      ...{ ...reports, signal },
      onOpen: () => {
        if (quiet && !wasBroken) return;
        say(`watching ${invite === undefined ? hubUrl : `room ${invite.room}`}`);
      },
      onDisconnect: (reason, retryInMs) => {
        wasBroken = true;
        reports.onDisconnect(reason, retryInMs);
      },
    });
    try {
      for await (const event of events) {
        if (quiet && !(isFailure(event) || event.type === "participant.offline")) continue;
        if (json) writeJson(context.stdout, event);
        else show(event, feed, colors);
      }
    } finally {
      feed.close();
    }
  });
}

/** Request rows are rate-limited; participants joining and leaving are always shown. */
function show(event: HubEvent, feed: RowFeed, colors: Colors): void {
  const isOfRequest =
    event.type === "llm.request" || event.type === "llm.complete" || event.type === "llm.error";
  if (!isOfRequest) return feed.line(eventLine(event, colors));
  feed.row({ render: () => eventLine(event, colors), isFailed: isFailure(event) });
}
