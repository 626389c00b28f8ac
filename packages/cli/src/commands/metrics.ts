import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { createRoomLists } from "../metrics/listed-rooms.ts";
import { RoomMetrics } from "../metrics/room-metrics.ts";
import { addHubOptions, type HubOptionValues, inviteOf, portArgument } from "../options.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { duration, safe, writeJson } from "../terminal/text.ts";

interface MetricsOptionValues extends HubOptionValues {
  host: string;
  port: number;
}

/** As of Prometheus exporters in OpenTelemetry's SDKs. */
const usualPort = 9_464;

export function addMetricsCommand(program: Command, context: CliContext): void {
  addHubOptions(
    program
      .command("metrics")
      .argument("[room]", "room code or invite URL (default: all rooms of the hub)")
      .description("serve Prometheus metrics of a room, or of the whole hub"),
  )
    .option("--host <address>", "address to serve them on", "127.0.0.1")
    .option("--port <number>", "port to serve them on", portArgument, usualPort)
    .addHelpText("after", "\nExample:\n  $ roomhub metrics\n  $ roomhub metrics ABC234 --port 9100")
    .action((room: string | undefined, options: MetricsOptionValues) =>
      serveRoomMetrics(context, room, options),
    );
}

/** Runs until stopped. Requests that end while the event stream is broken are not counted. */
async function serveRoomMetrics(
  context: CliContext,
  room: string | undefined,
  options: MetricsOptionValues,
): Promise<void> {
  const invite = room === undefined ? undefined : inviteOf(room, options);
  const hubUrl = invite?.hubUrl ?? options.hub;
  const client = context.createClient(hubUrl);
  const metrics = new RoomMetrics();
  const lists = createRoomLists(client, invite?.room, context.nowMs);
  let isConnected = false;
  await untilStopped(context, async (signal) => {
    const server = await serveOn(context, options, async () =>
      metrics.text({ isConnected, rooms: await lists() }),
    );
    const url = urlOf(options.host, server.port);
    let isShown = false;
    const events = client.events(invite?.room, {
      signal,
      onOpen: () => {
        isConnected = true;
        if (isShown) return;
        isShown = true;
        if (options.json === true) {
          writeJson(context.stdout, { url, hubUrl, room: invite?.room ?? null });
        } else context.stdout.write(`${url}\n`);
        const what = invite === undefined ? "All rooms" : `Room ${invite.room}`;
        context.stderr.write(`${what} of ${hubUrl}; Ctrl+C stops\n`);
      },
      onDisconnect: (reason, retryInMs) => {
        isConnected = false;
        context.stderr.write(
          `disconnected: ${safe(reason)}; retrying in ${duration(retryInMs)}; requests until then are not counted\n`,
        );
      },
      onEventId: (id) => metrics.noteId(id),
    });
    try {
      for await (const event of events) metrics.note(event);
    } finally {
      await server.close();
    }
  });
}

async function serveOn(
  context: CliContext,
  { host, port }: MetricsOptionValues,
  text: () => Promise<string>,
) {
  try {
    return await context.serveMetrics({ host, port, text });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      `The metrics cannot be served: ${reason}`,
      "choose another address or port: --host 127.0.0.1 --port 0",
    );
  }
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/metrics`;
}
