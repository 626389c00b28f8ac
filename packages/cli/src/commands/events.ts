import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { eventLine } from "../event-line.ts";
import { addHubOptions, type HubOptionValues, inviteOf } from "../options.ts";
import { untilStopped } from "../stop-signal.ts";
import { colorsFor, duration, safe, writeJson } from "../text.ts";

export function addEventsCommand(program: Command, context: CliContext): void {
  addHubOptions(
    program
      .command("events")
      .argument("[room]", "room code or invite URL; without it, the whole hub")
      .description("watch what happens, one line per event; --json prints NDJSON"),
  )
    .addHelpText(
      "after",
      "\nExample:\n  $ roomhub events ABC234 --json | jq -c '.metrics // empty'",
    )
    .action((room: string | undefined, options: HubOptionValues) =>
      watchEvents(context, room, options),
    );
}

/** Runs until stopped; a broken stream is opened again and said so on stderr. */
async function watchEvents(
  context: CliContext,
  room: string | undefined,
  options: HubOptionValues,
): Promise<void> {
  const invite = room === undefined ? undefined : inviteOf(room, options);
  const hubUrl = invite?.hubUrl ?? options.hub;
  const client = context.createClient(hubUrl);
  const colors = colorsFor(context, context.stdout);
  const say = (text: string) => context.stderr.write(`${text}\n`);
  await untilStopped(context, async (signal) => {
    const events = client.events(invite?.room, {
      signal,
      onOpen: () => say(`watching ${invite === undefined ? hubUrl : `room ${invite.room}`}`),
      onDisconnect: (reason, retryInMs) =>
        say(`disconnected: ${safe(reason)}; trying again in ${duration(retryInMs)}`),
    });
    for await (const event of events) {
      if (options.json === true) writeJson(context.stdout, event);
      else context.stdout.write(`${eventLine(event, colors)}\n`);
    }
  });
}
