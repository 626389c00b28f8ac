/**
 * `npm run bench:monitor`: what the page that watches a room costs its browser at 1,000 events/s from 500 participants.
 *
 * `--seconds N` measured, 20 by default · `--trace FILE` keeps the trace, for the performance panel of Chrome ·
 * `--table FILE` writes the table between the markers of a document
 */
import { readFile, writeFile } from "node:fs/promises";
import { setInterval as every } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createRandom } from "../../tests/faults/seeded-random.ts";
import { percentile } from "../../tests/faults/figure.ts";
import { createBusyRoom } from "../../tests/support/monitor/busy-room.ts";
import { startRoomStandIn } from "../../tests/support/monitor/room-stand-in.ts";
import {
  chromiumPath,
  launchChromium,
  openWatchedPage,
} from "../../tests/support/monitor/watched-page.ts";
import { withMarkedText } from "../report/marked-text.ts";
import { renderMarkdown, renderSeen, renderTable } from "../report/render.ts";
import {
  type MainThread,
  mainThreadOf,
  markDrawnFrames,
  TRACED,
  type TraceEvent,
} from "./main-thread.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    table: { type: "string" },
    trace: { type: "string" },
  },
});
const seconds = Number(values.seconds);
const eventsPerSecond = 1_000;
const tickMs = 20;
const warmUpSeconds = 5;

if (chromiumPath === undefined)
  throw new Error("chromium is not installed: apt-get install chromium");
const thread = mainThreadOf(await traced());
const row = {
  id: "M",
  seconds,
  title: "the page at 1,000 events/s, 500 participants",
  kind: "measured" as const,
  figures: [
    figure("script and layout per frame, median", percentile(thread.frames, 0.5), 8),
    figure("script and layout per frame, p95", percentile(thread.frames, 0.95), 16),
    figure("longest task", Math.max(...thread.tasks), 50),
  ],
  seen: seen(thread),
};
process.stdout.write(`${renderTable([row])}\n${renderSeen([row])}`);
if (values.table !== undefined) {
  const tables = `${renderMarkdown([row])}\n\n${row.seen.map((line) => `- ${line}`).join("\n")}`;
  const document = await readFile(values.table, "utf8");
  await writeFile(values.table, withMarkedText(document, "bench:monitor", tables));
}
if (row.figures.some(({ value, goal }) => !(value <= goal))) process.exitCode = 1;

async function traced(): Promise<TraceEvent[]> {
  await using browser = await launchChromium();
  const busy = createBusyRoom({ participants: 500, requests: 300, random: createRandom(7) });
  await using hub = await startRoomStandIn(busy.participants);
  await using watched = await openWatchedPage(browser, hub, {
    viewport: { width: 1_440, height: 900 },
    initScript: markDrawnFrames,
  });
  const play = async (lengthSeconds: number) => {
    const startMs = performance.now();
    let sent = 0;
    for await (const _ of every(tickMs)) {
      const elapsedMs = performance.now() - startMs;
      const due = Math.floor((elapsedMs * eventsPerSecond) / 1_000) - sent;
      hub.send(Array.from({ length: due }, () => busy.next()));
      sent += due;
      if (elapsedMs >= lengthSeconds * 1_000) return;
    }
  };
  await play(warmUpSeconds);
  await browser.startTracing(watched.page, { categories: TRACED });
  await play(seconds);
  const trace = await browser.stopTracing();
  if (values.trace !== undefined) await writeFile(values.trace, trace);
  return (JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }).traceEvents;
}

function figure(what: string, value: number, goal: number) {
  return { what, value, goal, unit: "ms" as const };
}

function seen({ frames, frameClock, busyMs }: MainThread): string[] {
  const perEventUs = ((busyMs / seconds / eventsPerSecond) * 1_000).toFixed(0);
  const clock = [0.5, 0.95].map((share) => percentile(frameClock, share).toFixed(1)).join(" and ");
  const perFrameMs = (busyMs / frames.length).toFixed(1);
  return [
    `CPU time of the page's main thread; ${frames.length} frames drawn in ${seconds} s`,
    `by the clock, other programs included: median and p95 of a frame ${clock} ms`,
    `${((busyMs / seconds / 1_000) * 100).toFixed(0)} % of one core, ${perEventUs} µs per event with drawing; ${perFrameMs} ms of all work from one frame to the next`,
  ];
}
