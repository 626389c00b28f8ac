import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileRoomStore, type HubOptions } from "@roomhub/hub";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveMonitor } from "../../packages/cli/src/monitor/page-server.ts";
import { userSays } from "../support/clients/openai-client.ts";
import { joinDirect, joinTunnel } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const title = executablePath === undefined ? " (skipped: chromium is not installed here)" : "";

describe.skipIf(executablePath === undefined)(`the page that watches a room${title}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
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

  test("a prompt to all participants streams side by side, with the hub's figures", async () => {
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", pieces: ["Because ", "<b>it</b> ", "scatters."] }),
    });
    await using lab = await openLab(browser);
    const { hub, code, page } = lab;
    await using _ada = await joinTunnel(hub, code, { endpoint: provider.url });
    const bea = { id: "bea", nickname: "Bea", endpoint: provider.url };
    await using _bea = await joinTunnel(hub, code, bea);
    await page.keyboard.press("4");
    await page.getByLabel("Prompt").fill("Why is the sky blue?");
    await page.getByRole("button", { name: "All", exact: true }).click();
    for (const name of ["Ada: fake-model", "Bea: fake-model"]) {
      const lane = page.locator(".lane", { hasText: name });
      await lane.getByText("Because <b>it</b> scatters.").waitFor();
      await lane.getByText(/first token \d/).waitFor();
    }
    expect(provider.requests.filter(({ json }) => json["stream"] === true)).toHaveLength(2);
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

  test("the page follows a hub that restarts, and one that has forgotten the room", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "rooms.json");
    await using lab = await openLab(browser, undefined, { store: fileRoomStore(path) });
    const { hub, code, page } = lab;
    await hub.hub.close();
    await page.locator(".link.is-broken").waitFor();
    const again = await startTestHub({ port: hub.port, store: fileRoomStore(path) });
    await page.getByText("Live", { exact: true }).waitFor();
    await joinDirect(again, code, { endpoint: "http://127.0.0.1:9/v1" });
    await page.locator(".card").waitFor();
    await again.hub.close();
    await using _other = await startTestHub({ port: hub.port });
    // Its refusal is shown with the time until the next attempt, and what was known stays.
    await page.getByText("Next attempt in").waitFor();
    expect(await page.locator(".card").count()).toBe(1);
  });

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
      await plot.locator("canvas").waitFor();
      expect(await plot.locator(".plot-names").textContent()).toBe("Ada");
    }
    expect(lab.problems).toEqual([]);
  });

  test.each([
    [360, 740],
    [1_440, 900],
  ])("axe finds no serious violation at %i × %i", async (width, height) => {
    await using provider = await startFakeProvider();
    await using lab = await openLab(browser, { width, height });
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
  });
});

interface Lab extends AsyncDisposable {
  hub: TestHub;
  code: string;
  page: Page;
  /** errors of the page's console, and requests to anything but the page and the hub */
  problems: string[];
}

/** A hub with a room, and the page that watches it. */
async function openLab(
  browser: Browser,
  viewport = { width: 1_280, height: 800 },
  options: HubOptions = {},
): Promise<Lab> {
  const stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub(options));
  const code = await hub.createRoom();
  const monitor = await serveMonitor({ port: 0, room: { hubUrl: hub.url, code } });
  stack.defer(() => monitor.close());
  const context = await browser.newContext({ viewport, reducedMotion: "reduce" });
  stack.defer(() => context.close());
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  const ours = [hub.url, `http://127.0.0.1:${monitor.port}`, "data:"];
  page.on("request", (request) => {
    if (!ours.some((start) => request.url().startsWith(start))) problems.push(request.url());
  });
  await page.goto(`http://127.0.0.1:${monitor.port}/`);
  await page.getByText("Live", { exact: true }).waitFor();
  return { hub, code, page, problems, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function send(hub: TestHub, code: string, user: string, model = "*"): Promise<string> {
  const response = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model, user, stream: true, messages: userSays("a b c d e f") },
    headers: { authorization: "Bearer as-alice" },
  });
  return response.text();
}

async function seriousViolations(page: Page): Promise<string[]> {
  const violations = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
      };
    };
    return (await axe.run()).violations;
  });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
