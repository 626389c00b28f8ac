import { initialState, reduce, resync, type RoomState } from "@roomhub/room-state";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../faults/seeded-random.ts";
import { createBusyRoom } from "../support/monitor/busy-room.ts";
import { startRoomStandIn } from "../support/monitor/room-stand-in.ts";
import { chromiumPath, launchChromium, openWatchedPage } from "../support/monitor/watched-page.ts";
import { aRoom } from "../../packages/cli/src/test-context.fixture.ts";

const hours = 12;
const hourMs = 3_600_000;
/** In these everything that is kept for a while is full. */
const settledHours = 2;
const room = { participants: 40, requests: 30 };
const title = chromiumPath === undefined ? " (skipped: chromium is not installed here)" : "";

test("the state of a room does not grow over 12 hours", () => {
  const busy = createBusyRoom({ ...room, random: createRandom(11) });
  const eventsPerHour = 7_200;
  let nowMs = Date.UTC(2026, 0, 2);
  const lists = { room: aRoom(), participants: busy.participants, requests: [] };
  let state = resync(initialState(), lists, nowMs);
  const sizes: number[] = [];
  for (let hour = 0; hour < hours; hour++) {
    for (let index = 0; index < eventsPerHour; index++) {
      nowMs += hourMs / eventsPerHour;
      state = reduce(state, busy.next(), nowMs);
    }
    sizes.push(charactersOf(state));
  }
  expect(state.running.size).toBe(busy.running + busy.waiting);
  expect(state.logged, "more lines than are kept").toBeGreaterThan(3_000);
  const [settled = 0, ...later] = sizes.slice(settledHours);
  expect(Math.max(...later) / settled).toBeLessThan(1.1);
  expect(Math.max(...sizes)).toBeLessThan(1_500_000);
});

describe.skipIf(chromiumPath === undefined)(`the page over hours${title}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  }, 60_000);
  afterAll(() => browser.close());

  test("elements and memory of the page do not grow over 12 hours", async () => {
    const busy = createBusyRoom({ ...room, random: createRandom(13) });
    await using hub = await startRoomStandIn(busy.participants);
    await using watched = await openWatchedPage(browser, hub, { initScript: clockThatCanBeSet });
    const { page, problems } = watched;
    const seen: PageSize[] = [];
    for (let hour = 0; hour < hours; hour++) {
      // A quarter of an hour at once: every batch fills the buckets that the page keeps.
      for (let quarter = 0; quarter < 4; quarter++) {
        await page.evaluate((ms) => (globalThis as unknown as Clock).advance(ms), hourMs / 4);
        hub.send(Array.from({ length: 1_500 }, () => busy.next()));
        const summary = `${busy.running} requests running, ${busy.waiting} waiting`;
        await page
          .getByText(summary.replace(/^1 requests/, "1 request"), { exact: true })
          .waitFor();
      }
      seen.push(await sizeOf(page));
    }
    const [settled, ...later] = seen.slice(settledHours);
    const most = Math.max(...later.map(({ elements }) => elements));
    expect(most, JSON.stringify(seen)).toBeLessThan((settled?.elements ?? 0) * 1.1);
    // The least of the last hours, since a single size has what was not collected yet.
    const least = Math.min(...later.slice(-4).map(({ heapBytes }) => heapBytes));
    expect(least, JSON.stringify(seen)).toBeLessThan((settled?.heapBytes ?? 0) * 1.2);
    expect(problems).toEqual([]);
  });
});

interface Clock {
  advance(ms: number): void;
}

interface PageSize {
  elements: number;
  /** after a full collection */
  heapBytes: number;
}

/** `Date.now` alone: timers go on as they are, so the stream is not taken for dead. */
function clockThatCanBeSet(): void {
  const now = Date.now;
  let ahead = 0;
  Date.now = () => now() + ahead;
  (globalThis as unknown as Clock).advance = (ms) => {
    ahead += ms;
  };
}

async function sizeOf(page: Page): Promise<PageSize> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize: heapBytes } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  return { elements, heapBytes };
}

function charactersOf(state: RoomState): number {
  return JSON.stringify(state, (_key, value: unknown) =>
    value instanceof Map ? [...(value as Map<string, unknown>)] : value,
  ).length;
}
