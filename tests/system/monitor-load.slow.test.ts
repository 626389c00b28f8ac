import { setInterval as every } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../faults/seeded-random.ts";
import { createBusyRoom } from "../support/monitor/busy-room.ts";
import { startRoomStandIn } from "../support/monitor/room-stand-in.ts";
import { chromiumPath, launchChromium, openWatchedPage } from "../support/monitor/watched-page.ts";

const title = chromiumPath === undefined ? " (skipped: chromium is not installed here)" : "";
const eventsPerTick = 50;
const tickMs = 50;

describe.skipIf(chromiumPath === undefined)(`the page under load${title}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  }, 60_000);
  afterAll(() => browser.close());

  test("counts stay right and elements few at 1,000 events a second from 500 participants", async () => {
    const busy = createBusyRoom({ participants: 500, requests: 300, random: createRandom(7) });
    await using hub = await startRoomStandIn(busy.participants);
    await using watched = await openWatchedPage(browser, hub, {
      viewport: { width: 1_440, height: 900 },
    });
    const { page, problems } = watched;
    await page.getByText("500 of 500 ready").waitFor();
    await page.evaluate(measureDrawings);
    const counts: number[] = [];
    let ticks = 0;
    for await (const _ of every(tickMs)) {
      hub.send(Array.from({ length: eventsPerTick }, () => busy.next()));
      if (++ticks % 20 === 0) counts.push(await elementsOf(page));
      if (ticks === 80) break;
    }
    const summary = `${busy.running} requests running, ${busy.waiting} waiting`;
    await page.getByText(summary, { exact: true }).waitFor({ timeout: 10_000 });
    const ended = page.locator(".key-figures div", { hasText: "requests in" });
    expect(await ended.textContent()).toContain(busy.ended.toLocaleString("en-US"));
    expect(busy.ended, "requests ended, or the counts above say little").toBeGreaterThan(200);
    const shown = await page.locator("article.request").count();
    expect(shown, "rows that are visible, and a few around them").toBeGreaterThan(5);
    expect(shown).toBeLessThan(40);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThan(600);
    expect(Math.max(...counts)).toBeLessThan(500 * 40);
    const drawingsMs = await page.evaluate(() => window.drawingsMs.sort((a, b) => a - b));
    expect(drawingsMs.length).toBeGreaterThan(40);
    // 5 ms where nothing else runs; more than a frame's 16 ms would be seen.
    expect(drawingsMs[drawingsMs.length >> 1]).toBeLessThan(16);
    expect(problems).toEqual([]);
  });
});

declare global {
  interface Window {
    /** script and layout of each drawing, ms */
    drawingsMs: number[];
  }
}

/** Runs in the page. */
function measureDrawings(): void {
  window.drawingsMs = [];
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) =>
    request((timeMs) => {
      const startMs = performance.now();
      draw(timeMs);
      // Reading a size makes the browser lay out what was drawn.
      document.body.getBoundingClientRect();
      window.drawingsMs.push(performance.now() - startMs);
    });
}

function elementsOf(page: Page): Promise<number> {
  return page.evaluate(() => document.querySelectorAll("*").length);
}
