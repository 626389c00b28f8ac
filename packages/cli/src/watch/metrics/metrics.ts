import type { World } from "@roomhub/protocol";
import { InvalidArgumentError, Option } from "commander";
import { urlOf } from "../../rooms/hub-address.ts";
import type { CliContext } from "../../context.ts";
import { otherAddress, refusePublic } from "../public-address.ts";
import { explained } from "../../exit-code.ts";
import type { Metric } from "./series.ts";
import { prometheusText } from "./metrics-server.ts";
import { type ListedRoom, RoomMetrics } from "./room-metrics.ts";
import {
  type HubOptionValues,
  inviteOf,
  portArgument,
  type RoomhubCommand,
} from "../../options.ts";
import { untilStopped } from "../../terminal/stop-signal.ts";
import { notCounted, streamReports } from "../../terminal/event-line.ts";
import { safe, writeJson } from "../../terminal/text.ts";
import type { Client } from "../../capabilities.ts";

interface MetricsOptionValues extends HubOptionValues {
  host: string;
  port: number;
  otlp?: string;
  public?: boolean;
}

/** As of Prometheus exporters in OpenTelemetry's SDKs. */
const usualPort = 9_464;

export function addMetricsCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("metrics")
    .hubOptions()
    .argument("[room]", "room code or invite URL (default: all rooms of the hub)")
    .option("--host <address>", "address to serve them on", "127.0.0.1")
    .option("--public", "serve a closed room's metrics on another address than loopback")
    .option("--port <number>", "port to serve them on", portArgument, usualPort)
    .addOption(
      new Option(
        "--otlp <url>",
        "send them to this OTLP receiver over HTTP, instead of serving them",
      )
        .argParser(otlpArgument)
        .conflicts(["host", "port"]),
    )
    .examples(
      "roomhub metrics",
      "roomhub metrics ABC234 --port 9100",
      "roomhub metrics --otlp http://127.0.0.1:4318",
    )
    .action((room: string | undefined, options: MetricsOptionValues) =>
      serveRoomMetrics(context, room, options),
    );
}

/** Runs until stopped. Requests that end while the event stream is disconnected are not counted. */
async function serveRoomMetrics(
  context: CliContext,
  room: string | undefined,
  options: MetricsOptionValues,
): Promise<void> {
  const invite = room === undefined ? undefined : inviteOf(room, options);
  const hubUrl = invite?.hubUrl ?? options.hub;
  const client = context.createClient(hubUrl);
  if (invite !== undefined && options.otlp === undefined) {
    await refusePublic(context, invite, options);
  }
  const metrics = new RoomMetrics();
  const lists = createRoomLists(client, invite?.room, context.world);
  let isConnected = false;
  await untilStopped(context, async (signal) => {
    const writer = await openWriter(context, options, async () =>
      metrics.collect({ isConnected, rooms: await lists() }),
    );
    let isShown = false;
    const reports = streamReports((line) => context.stderr.write(`${line}\n`), notCounted);
    const events = client.events(invite?.room, {
      ...{ ...reports, signal },
      onOpen: () => {
        isConnected = true;
        if (isShown) return;
        isShown = true;
        if (options.json === true) {
          writeJson(context.stdout, { url: writer.url, hubUrl, room: invite?.room ?? null });
        } else context.stdout.write(`${writer.url}\n`);
        const what = invite === undefined ? "All rooms" : `Room ${invite.room}`;
        context.stderr.write(`${what} of ${hubUrl}; Ctrl+C stops\n`);
      },
      onDisconnect: (reason, retryInMs) => {
        isConnected = false;
        reports.onDisconnect(reason, retryInMs);
      },
      onEventId: (id) => metrics.noteId(id),
    });
    try {
      for await (const event of events) metrics.note(event);
    } finally {
      await writer.close();
    }
  });
}

/** Makes the metrics known, and says where. */
async function openWriter(
  context: CliContext,
  options: MetricsOptionValues,
  collect: () => Promise<readonly Metric[]>,
) {
  const { otlp: url, host } = options;
  if (url === undefined) {
    const text = async () => prometheusText(await collect());
    const serving = context.serveMetrics({ host, port: options.port, text });
    const server = await explained("The metrics cannot be served", otherAddress, serving);
    return { url: `${urlOf(host, server.port)}/metrics`, close: server.close };
  }
  const { version, world } = context;
  const onSent = createSentNotice(context, url);
  const { close } = await context.sendMetrics({ url, version, world, collect, onSent });
  return { url, close };
}

/** Reports once that a receiver cannot be reached, and once that it can again. */
function createSentNotice({ stderr }: CliContext, url: string) {
  let isFailing = false;
  return (failure: string | undefined) => {
    if (failure === undefined && isFailing) stderr.write(`${url} accepts the metrics again\n`);
    if (failure !== undefined && !isFailing) {
      stderr.write(
        `${url} did not accept the metrics: ${safe(failure)}; they are sent every 15 s, and no count is lost\n`,
      );
    }
    isFailing = failure !== undefined;
  };
}

/**
 * A receiver's address; without a path, the one that OTLP has for metrics.
 *
 * @throws InvalidArgumentError
 */
function otlpArgument(text: string): string {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new InvalidArgumentError("Must be a URL, like http://127.0.0.1:4318.");
  }
  if (url.pathname === "/") url.pathname = "/v1/metrics";
  return url.href;
}

/** The most rooms whose participants are listed for one scrape. Each room costs the hub one request. */
const maxRooms = 100;
/** Several scrapers cost the hub no more than one. */
const keptMs = 1_000;

/**
 * The participants of a room, or of the first 100 rooms of the hub.
 *
 * @param room - undefined for all rooms
 * @returns reads the lists; undefined when the hub cannot be reached
 */
function createRoomLists(
  client: Pick<Client, "listRooms" | "listParticipants">,
  room: string | undefined,
  world: World,
): () => Promise<readonly ListedRoom[] | undefined> {
  let reading: Promise<readonly ListedRoom[] | undefined> | undefined;
  let readMs = 0;
  const read = async () => {
    try {
      const codes =
        room === undefined ? (await client.listRooms()).map(({ code }) => code) : [room];
      return await Promise.all(
        codes
          .slice(0, maxRooms)
          .map(async (code) => ({ room: code, participants: await client.listParticipants(code) })),
      );
    } catch {
      // The other metrics are still correct, and the missing gauges show the failure.
      return undefined;
    }
  };
  return () => {
    if (reading === undefined || world.wallMs() - readMs >= keptMs) {
      readMs = world.wallMs();
      reading = read();
    }
    return reading;
  };
}
