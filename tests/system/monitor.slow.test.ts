import { join } from "node:path";
import { fileRoomStore } from "@roomhub/hub";
import type { CreateRoomResponse } from "@roomhub/protocol";
import type { BenchResult } from "@roomhub/room-state";
import axe from "axe-core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveMonitor } from "../../packages/cli/src/watch/monitor/page-server.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { openLab, send } from "../support/monitor/page-lab.ts";
import { seriousViolations } from "../support/monitor/violations.ts";
import { chromiumPath, launchChromium } from "../support/monitor/watched-page.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const title = chromiumPath === undefined ? " (skipped: chromium is not installed here)" : "";

describe.skipIf(chromiumPath === undefined)(`the page that watches a room${title}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  }, 60_000);
  afterAll(() => browser.close());

  test("a participant appears within a second of joining, and its name stays text", async () => {
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    await page.getByText("No participant has joined").waitFor();
    const startMs = performance.now();
    const nickname = '<img src=x onerror="document.title=1">';
    await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1", nickname });
    await page.locator(".card").waitFor();
    expect(performance.now() - startMs).toBeLessThan(1_000);
    expect(await page.locator(".card h4").textContent()).toContain(nickname);
    expect(await page.locator("#page img").count()).toBe(0);
    expect(lab.problems).toEqual([]);
  });

  test("a request is a row that moves through its states", async () => {
    const first = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<void>();
    await using provider = await startFakeProvider({
      behave: ({ json }) =>
        json["user"] === "ahead"
          ? { kind: "normal", gate: first.promise }
          : { kind: "normal", gate: rest.promise, gateAfterChunks: 3 },
    });
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    const config = { maxConcurrency: 1 };
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url, config });
    const ahead = send(hub, code, "ahead");
    const waiting = page.locator(".request.is-waiting");
    await waiting.waitFor();
    expect(await waiting.textContent()).toContain("first token");
    const watched = send(hub, code, "watched");
    await page.getByText("waiting, place 1").waitFor();
    const queued = page.locator(".request.is-queued");
    const requestId = await queued.getAttribute("data-request");
    const row = page.locator(`[data-request="${requestId}"]`);
    first.resolve();
    await row.getByText("streaming").waitFor();
    expect(await row.textContent()).toContain("alice/watched");
    rest.resolve();
    await row.getByText("done").waitFor();
    expect(await row.textContent()).toContain("Ada fake-model");
    await Promise.all([ahead, watched]);
    expect(lab.problems).toEqual([]);
  });

  test("a participant that is killed in the middle of a stream shows stage and next step", async () => {
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "cut", afterChunks: 2, reset: true }),
    });
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
    await send(hub, code, "cut").catch(() => undefined);
    const row = page.locator(".request.is-failed");
    await row.waitFor();
    const text = await row.textContent();
    expect(text).toContain("failed at provider");
    expect(text).toContain("Next: ");
    await page.getByRole("link", { name: "Log" }).click();
    await page.locator(".failures summary").click();
    expect(await page.locator(".failures details").textContent()).toContain(
      "provider_disconnected",
    );
    expect(lab.problems).toEqual([]);
  });

  test("tabs of one room share a stream, and another one opens it when its tab is closed", async () => {
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    let streams = 0;
    page.context().on("request", (request) => {
      if (request.url().includes("/events?")) streams++;
    });
    const second = await page.context().newPage();
    await second.goto(page.url());
    await second.getByText("Live", { exact: true }).waitFor();
    await joinDirect(hub, code, { endpoint: "http://127.0.0.1:9/v1" });
    await second.locator(".card").waitFor();
    expect(streams).toBe(0);
    await page.close();
    const bea = { id: "bea", nickname: "Bea", endpoint: "http://127.0.0.1:9/v1" };
    await expect.poll(() => streams).toBe(1);
    await joinDirect(hub, code, bea);
    await second.getByRole("heading", { name: "Bea" }).waitFor();
  });

  test("projector mode is entered and left by key, and a theme is kept", async () => {
    await using lab = await openLab(browser);
    const { page } = lab;
    const fontSize = () => page.evaluate(() => getComputedStyle(document.documentElement).fontSize);
    const usual = Number.parseFloat(await fontSize());
    await page.keyboard.press("p");
    await page.locator("html.is-projector").waitFor();
    expect(Number.parseFloat(await fontSize())).toBeGreaterThan(usual * 1.3);
    await page.keyboard.press("Escape");
    await page.locator("html:not(.is-projector)").waitFor();
    await page.getByRole("button", { name: "Theme: auto" }).click();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Theme: dark" }).waitFor();
    expect(lab.problems).toEqual([]);
  });

  test("a closed room asks for its key, and a link with one leaves it in no address and in no file", async () => {
    await using hub = await startTestHub();
    const created = await hub.fetch("/rooms", { json: { name: "class", closed: true } });
    const { room, key } = (await created.json()) as CreateRoomResponse;
    const value = key?.value ?? "";
    await using monitor = await startMonitor({ hubUrl: hub.url, code: room.code });
    await using lab = await openPage(browser);
    const { page, urls } = lab;
    const live = page.getByText("Live", { exact: true });

    await page.goto(monitor.url);
    const input = page.getByLabel(`Key of room ${room.code}`);
    await input.waitFor();
    expect(await page.getByText("class", { exact: true }).count()).toBe(0);
    await input.fill(value);
    await page.keyboard.press("Enter");
    await live.waitFor();

    await page.evaluate(() => sessionStorage.clear());
    await page.goto(`${monitor.url}#key=${value}`);
    await live.waitFor();
    expect(page.url()).not.toContain("#");
    const kept = await page.evaluate(() =>
      JSON.stringify([Object.values(localStorage), document.cookie]),
    );
    expect([...urls, page.url(), kept].filter((text) => text.includes("rhk_"))).toEqual([]);
  });

  test("the page follows a hub that restarts, and one that has forgotten the room", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "rooms.json");
    await using lab = await openLab(browser, {}, { store: fileRoomStore(path) });
    const { hub, code, page } = lab;
    await hub.hub.close();
    await page.getByText(`No connection to the hub at ${hub.url}`).waitFor();
    await page.getByText(/This is the room at \d\d:\d\d:\d\d/).waitFor();
    await page.locator("main.is-stale").waitFor();
    const again = await startTestHub({ port: hub.port, store: fileRoomStore(path) });
    await page.getByText("Live", { exact: true }).waitFor();
    await joinDirect(again, code, { endpoint: "http://127.0.0.1:9/v1" });
    await page.locator(".card").waitFor();
    expect(await page.locator("main.is-stale").count()).toBe(0);
    await again.hub.close();
    await page.locator("main.is-stale").waitFor();
    await using _other = await startTestHub({ port: hub.port });
    await page.getByRole("button", { name: "Try again" }).click();
    // What was known stays; only a person tries again.
    await page.getByText(`has no room ${code}`).waitFor();
    expect(await page.locator(".card").count()).toBe(1);
    expect(await page.getByText("Next attempt in").count()).toBe(0);
    await page.getByRole("link", { name: "Log", exact: true }).click();
    expect(await page.locator("body").innerText()).not.toMatch(/failed to fetch|roomhub \w/i);
    await page.getByRole("link", { name: "Enter another room" }).click();
    await page.getByLabel("Room").waitFor();
  });

  test("rows are never drawn over one another while requests come, move and end", async () => {
    await using provider = await startFakeProvider({
      behave: ({ json }) =>
        String(json["user"]).endsWith("5")
          ? { kind: "cut", afterChunks: 2, reset: true }
          : { kind: "normal", chunkDelayMs: 20 },
    });
    await using lab = await openLab(browser, {
      viewport: { width: 360, height: 740 },
      reducedMotion: "no-preference",
    });
    const { hub, code, page } = lab;
    const config = { maxConcurrency: 2 };
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url, config });
    const sampling = page.evaluate(sampleRows, 120);
    const sent: Promise<unknown>[] = [];
    for (let turn = 0; turn < 40; turn++) {
      sent.push(send(hub, code, `notes-${turn}`).catch(() => undefined));
      await page.waitForTimeout(100);
    }
    const { overlaps, moves } = await sampling;
    await Promise.all(sent);
    expect(moves, "rows that changed their place, or the samples say nothing").toBeGreaterThan(50);
    expect(overlaps).toEqual([]);
  });

  test("a failed request shows its whole cause first, its code, and a next step with the room's code", async () => {
    const message = "the request exceeds the available context size ".repeat(8).trim();
    await using provider = await startFakeProvider({
      behave: () => ({
        kind: "status",
        status: 400,
        body: { error: { message, code: "too_long" } },
      }),
    });
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
    await send(hub, code, "long");
    await send(hub, code, "missing", "missing-model");
    const cause = page.locator(".request.is-failed .failure", { hasText: "too_long" });
    await cause.waitFor();
    expect((await cause.innerText()).startsWith(message)).toBe(true);
    const isWhole = await cause.evaluate((element) => {
      const list = element.closest(".virtual")?.getBoundingClientRect();
      const own = element.getBoundingClientRect();
      return own.height > 60 && list !== undefined && own.right <= list.right;
    });
    expect(isWhole).toBe(true);
    // The list ends below its last row.
    const room = await page.locator(".requests ul").evaluate((list) => {
      const last = list.lastElementChild?.getBoundingClientRect();
      return list.getBoundingClientRect().bottom - (last?.bottom ?? Number.NaN);
    });
    expect(Math.abs(room)).toBeLessThan(2);
    await page.getByText(`roomhub models ${code}`).waitFor();
  });

  test("an empty room offers a try, the base URL and a QR code; so does the projector", async () => {
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    const baseUrl = page.getByText(`${hub.url}/rooms/${code}/v1`, { exact: true });
    const qrCode = page.getByRole("img", { name: `QR code of ${hub.url}/rooms/${code}` });
    await page.getByText("No requests since you opened this page").waitFor();
    await baseUrl.waitFor();
    await qrCode.waitFor();
    await page.keyboard.press("p");
    await page.locator("html.is-projector").waitFor();
    expect(await baseUrl.count()).toBe(1);
    expect(await qrCode.count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.locator("main").getByRole("link", { name: "Try it" }).click();
    await page.getByRole("heading", { name: "Try it" }).waitFor();
  });

  test("a page opened late counts from then on, and plots no zeros of the time before", async () => {
    await using provider = await startFakeProvider();
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
    await send(hub, code, "one");
    await page.locator(".request.is-done").waitFor();
    await page.getByText(/^requests in \d+ s$/).waitFor();
    await page.getByRole("link", { name: "Figures", exact: true }).click();
    await page.getByRole("heading", { name: /^Since you opened this page/ }).waitFor();
    const requests = page.locator(".plot", { hasText: "ended" }).locator("path").first();
    const box = await requests.boundingBox();
    const area = await page.locator(".plot", { hasText: "ended" }).locator("svg").boundingBox();
    expect(box?.width ?? 0).toBeLessThan((area?.width ?? 0) / 10);
  });

  test.each([
    [1_280, 1],
    [768, 2],
    [360, 2],
  ])(
    "at %i px the header has so many rows: %i, and a healthy participant one",
    async (width, rows) => {
      await using provider = await startFakeProvider();
      await using lab = await openLab(browser, { viewport: { width, height: 800 } });
      const { page, hub, code } = lab;
      await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
      await page.getByText("1 of 1 ready").waitFor();
      const tops = await page.locator(".head > *").evaluateAll((parts) =>
        parts
          .map((part) => part.getBoundingClientRect())
          .filter(({ height }) => height > 0)
          .map(({ top, bottom }) => (top + bottom) / 2),
      );
      tops.sort((one, other) => one - other);
      const seen = tops.filter((top, index) => top - (tops[index - 1] ?? -100) > 14);
      expect(seen).toHaveLength(rows);
      const line = await page.locator(".card").boundingBox();
      expect(line?.height).toBeLessThan(48);
    },
  );

  test("the figures have plots with a line for each participant", async () => {
    await using provider = await startFakeProvider();
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
    await send(hub, code, "one");
    await page.locator(".request.is-done").waitFor();
    await page.getByRole("link", { name: "Figures", exact: true }).click();
    for (const title of ["Requests of each", "Errors of each", "Warm share of each"]) {
      const plot = page.locator(".plot", { hasText: title });
      await plot.locator("path").waitFor({ state: "attached" });
      expect(await plot.locator(".plot-names").textContent()).toBe("ada");
    }
    expect(lab.problems).toEqual([]);
  });

  test("a saved result of bench is shown beside the live figures, and another file is refused", async () => {
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", chunkDelayMs: 20 }),
    });
    await using lab = await openLab(browser, { viewport: { width: 360, height: 740 } });
    const { hub, code, page } = lab;
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
    await send(hub, code, "one");
    await page.locator(".request.is-done").waitFor();
    await page.getByRole("link", { name: "Bench", exact: true }).click();
    const file = page.getByLabel("Saved result");
    const chosen = (text: string) => ({
      name: "monday.json",
      mimeType: "application/json",
      buffer: Buffer.from(text),
    });
    await file.setInputFiles(chosen("{}"));
    await page.getByText("monday.json is not a result of roomhub bench").waitFor();
    await file.setInputFiles(chosen(JSON.stringify(measuredOf("ada", code))));
    const row = page.locator("tr", { hasText: "fake-model" });
    await row.waitFor();
    expect(await row.innerText()).toMatch(/ada\s+fake-model\s+32k\s+180 ms\s+2\.6 s\s+\d+ ms/);
    expect(await row.innerText()).toContain("149 (4)");
    await page.getByText("<b>ben</b> was not measured: offline").waitFor();
    const bars = await row.locator("i").evaluateAll((all) => all.map((bar) => bar.clientWidth));
    expect(bars[1]).toBeGreaterThan((bars[0] ?? 0) * 5);
    await page.evaluate(axe.source);
    expect(await seriousViolations(page)).toEqual([]);
    const overflow = await page.evaluate(() => document.body.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
    // The result stays while another view is looked at.
    await page.getByRole("link", { name: "Log", exact: true }).click();
    await page.getByRole("link", { name: "Bench", exact: true }).click();
    await row.waitFor();
    expect(lab.problems).toEqual([]);
  });

  test.each([
    [360, 740, "light"],
    [360, 740, "dark"],
    [768, 1_024, "dark"],
    [1_280, 800, "light"],
    [1_920, 1_080, "dark"],
  ] as const)(
    "axe finds no serious violation at %i × %i, %s",
    async (width, height, colorScheme) => {
      await using provider = await startFakeProvider();
      await using lab = await openLab(browser, { viewport: { width, height }, colorScheme });
      const { hub, code, page } = lab;
      await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
      await send(hub, code, "one");
      await send(hub, code, "two", "missing-model");
      await page.locator(".request.is-done").waitFor();
      await page.locator(".request.is-failed").waitFor();
      await page.evaluate(axe.source);
      const views = await page.locator("nav a").allTextContents();
      for (const view of views) {
        await page.getByRole("link", { name: view, exact: true }).click();
        expect(await seriousViolations(page), view).toEqual([]);
        const overflow = await page.evaluate(() => document.body.scrollWidth - innerWidth);
        expect(overflow, `${view} is not wider than the window`).toBeLessThanOrEqual(0);
      }
      expect(lab.problems).toEqual([]);
    },
  );
});

/** What `bench --save` writes. */
function measuredOf(id: string, room: string): BenchResult {
  const none = { firstToken: [], promptTokensPerSecond: null, generation: [], canaries: {} };
  return {
    ...{ version: 1, at: "2026-01-02T03:04:05.000Z", hubUrl: "http://hub", room },
    hubRoundTripMs: 1,
    participants: [
      {
        ...{ id, nickname: "Ada", model: "fake-model", context: 32_768 },
        firstToken: [
          { promptBytes: 1_024, promptTokens: 411, ms: 180 },
          { promptBytes: 16_384, promptTokens: 6_510, ms: 2_630 },
        ],
        promptTokensPerSecond: 2_489.4,
        generation: [
          { requests: 1, tokensPerSecond: 61.2 },
          { requests: 4, tokensPerSecond: 148.9 },
        ],
        canaries: { tools: "passed", schema: "failed", vision: "refused" },
        errors: ["this model does not take images"],
      },
      {
        ...{ id: "<b>ben</b>", nickname: "Ben", model: "fake-model", context: null },
        ...{ ...none, skipped: "offline", errors: [] },
      },
    ],
  };
}

/** The page as the command serves it. */
async function startMonitor(room: { hubUrl: string; code: string }) {
  const monitor = await serveMonitor({ port: 0, room });
  return {
    url: `http://127.0.0.1:${monitor.port}/`,
    [Symbol.asyncDispose]: () => monitor.close(),
  };
}

/** A page, and the URLs that it has requested. */
async function openPage(browser: Browser) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  return { page, urls, [Symbol.asyncDispose]: () => context.close() };
}

/** Runs in the page: looks at all rows, so many times, at most once per frame. */
async function sampleRows(samples: number): Promise<{ overlaps: string[]; moves: number }> {
  const overlaps: string[] = [];
  const places = new Map<string, number>();
  let moves = 0;
  for (let sample = 0; sample < samples; sample++) {
    await new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve), 20));
    const rows = [...document.querySelectorAll<HTMLElement>(".requests li")].map((row) => ({
      key: row.dataset["key"] ?? "",
      box: (row.firstElementChild ?? row).getBoundingClientRect(),
    }));
    rows.sort((one, other) => one.box.top - other.box.top);
    rows.forEach(({ key, box }, index) => {
      const next = rows[index + 1];
      if (next !== undefined && next.box.top < box.bottom - 0.5)
        overlaps.push(`${key} ends at ${box.bottom}, ${next.key} begins at ${next.box.top}`);
      if (places.has(key) && places.get(key) !== box.top) moves++;
      places.set(key, box.top);
    });
  }
  return { overlaps, moves };
}
