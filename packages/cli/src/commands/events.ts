import type { HubEvent } from "@roomhub/protocol";
import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { eventLine, isFailure } from "../terminal/event-line.ts";
import {
  addHubOptions,
  addQuietOption,
  examples,
  type HubOptionValues,
  inviteOf,
} from "../options.ts";
import { createRowFeed, type RowFeed } from "../terminal/row-feed.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { type Colors, colorsFor, duration, safe, writeJson } from "../terminal/text.ts";

interface EventsOptionValues extends HubOptionValues {
  quiet?: boolean;
}

export function addEventsCommand(program: Command, context: CliContext): void {
  addQuietOption(addHubOptions(program.command("events")))
    .argument("[room]", "room code or invite URL (default: the whole hub)")
    .addHelpText("after", examples("roomhub events ABC234 --json | jq -c '.metrics // empty'"))
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
  let wasBroken = false;
  await untilStopped(context, async (signal) => {
    const events = client.events(invite?.room, {
      signal,
      onOpen: () => {
        if (quiet && !wasBroken) return;
        say(`watching ${invite === undefined ? hubUrl : `room ${invite.room}`}`);
      },
      onDisconnect: (reason, retryInMs) => {
        wasBroken = true;
        say(`disconnected: ${safe(reason)}; retrying in ${duration(retryInMs)}`);
      },
      onInvalidEvent: (problem) => say(`! ${problem}`),
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
