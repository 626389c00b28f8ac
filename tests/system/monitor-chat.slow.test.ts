import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { joinTunnel } from "../support/hub/joining.ts";
import { openLab } from "../support/monitor/page-lab.ts";
import { seriousViolations } from "../support/monitor/violations.ts";
import { chromiumPath, launchChromium } from "../support/monitor/watched-page.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";

const title = chromiumPath === undefined ? " (skipped: chromium is not installed here)" : "";

const code =
  "def scatter(nm):\n    return 1 / nm ** 4  # a line that is wider than any phone, so that its block scrolls";
const pieces = [
  ...[
    "It **scatters",
    '** <img src=x onerror="document.title=1">\n\n',
    "1. `blue` [a](javascript:alert(1))\n",
  ],
  ...["\n```python\n", `${code}\n`, "```\n\n| nm | |\n|---|---|\n| 450 | blue |\n"],
];

describe.skipIf(chromiumPath === undefined)(`the chat of the page${title}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  }, 60_000);
  afterAll(() => browser.close());

  test("goes over several turns, shows Markdown as elements and everything else as text", async () => {
    await using provider = await startFakeProvider({ behave: () => ({ kind: "normal", pieces }) });
    await using lab = await openLab(browser, {
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const { hub, page } = lab;
    await using _ada = await joinTunnel(hub, lab.code, { endpoint: provider.url });
    await openChat(page);
    await ask(page, "Why is the sky blue?");
    const answer = page.locator(".answer").first();
    await answer.getByText("Ada: fake-model, first token").waitFor();
    expect(await answer.locator("strong").innerText()).toBe("scatters");
    expect(await answer.locator("pre code").innerText()).toBe(code);
    expect(await answer.locator("td").allInnerTexts()).toEqual(["450", "blue"]);
    expect(await answer.innerText()).toContain('<img src=x onerror="document.title=1">');
    expect(await answer.locator("img, a, script").count()).toBe(0);
    await answer.locator(".code-block").getByRole("button", { name: "Copy" }).click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(code);
    await answer.getByRole("button", { name: "Copy", exact: true }).last().click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(pieces.join(""));
    await ask(page, "And at sunset?");
    await expect.poll(() => page.locator(".answer.is-done").count()).toBe(2);
    const { messages } = provider.requests.at(-1)?.json ?? {};
    expect(messages).toMatchObject([
      { role: "user", content: "Why is the sky blue?" },
      { role: "assistant", content: pieces.join("") },
      { role: "user", content: "And at sunset?" },
    ]);
    expect(lab.problems).toEqual([]);
  });

  test("is stopped by key, keeps what arrived, and asks again", async () => {
    const gate = Promise.withResolvers<void>();
    await using provider = await startFakeProvider({
      behave: () => ({ kind: "normal", gate: gate.promise, gateAfterChunks: 3 }),
    });
    await using lab = await openLab(browser);
    const { hub, page } = lab;
    await using _ada = await joinTunnel(hub, lab.code, { endpoint: provider.url });
    await openChat(page);
    await ask(page, "one");
    await page.locator(".answer").getByText("streaming", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".answer.is-stopped").waitFor();
    await provider.waitFor(({ aborted }) => aborted === 1);
    expect(await page.locator(".answer .markdown").innerText()).not.toBe("");
    gate.resolve();
    await page.getByRole("button", { name: "Again" }).click();
    await page.locator(".answer.is-done").waitFor();
    expect(await page.locator(".answer").count()).toBe(1);
    expect(lab.problems).toEqual([]);
  });

  test("compares models side by side, one below the other on a phone", async () => {
    await using provider = await startFakeProvider();
    await using lab = await openLab(browser);
    const { hub, page } = lab;
    await using _ada = await joinTunnel(hub, lab.code, { endpoint: provider.url });
    const bea = { id: "bea", nickname: "Bea", endpoint: provider.url };
    await using _bea = await joinTunnel(hub, lab.code, bea);
    await openChat(page);
    await page.getByLabel("Model", { exact: true }).selectOption("ada");
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByLabel("Model 2", { exact: true }).selectOption("bea");
    await ask(page, "Who are you?");
    const [ada, bea2] = ["Ada: fake-model", "Bea: fake-model"].map((name) =>
      page.locator(".answer.is-done", { hasText: name }),
    );
    const places = async () => [await ada?.boundingBox(), await bea2?.boundingBox()];
    const [left, right] = await places();
    expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0));
    expect(right?.y).toBe(left?.y);
    await page.setViewportSize({ width: 360, height: 740 });
    const [above, below] = await places();
    expect(below?.y).toBeGreaterThan((above?.y ?? 0) + (above?.height ?? 0));
    expect(await page.evaluate(() => document.body.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    await page.getByRole("button", { name: "Without model 2" }).click();
    await expect.poll(() => page.locator(".answer").count()).toBe(1);
    expect(lab.problems).toEqual([]);
  });

  test("works by keyboard alone", async () => {
    await using provider = await startFakeProvider();
    await using lab = await openLab(browser);
    const { hub, page } = lab;
    await using _ada = await joinTunnel(hub, lab.code, { endpoint: provider.url });
    await openChat(page);
    await focusByTab(page, "Model");
    await page.keyboard.press("ArrowDown");
    await focusByTab(page, "Prompt");
    await page.keyboard.type("a");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("b");
    await page.keyboard.press("Enter");
    await page.locator(".answer.is-done").waitFor();
    expect(provider.requests.at(-1)?.json["messages"]).toEqual([{ role: "user", content: "a\nb" }]);
    expect(await page.locator(".round").count()).toBe(1);
    // Sent, the field is ready for the next one.
    await page.keyboard.type("4");
    expect(await page.getByLabel("Prompt").inputValue()).toBe("4");
    await focusByTab(page, "Copy");
    await focusByTab(page, "New chat");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".round").count()).toBe(0);
  });

  test("is stored only when its user wants it to be kept, and no longer", async () => {
    await using provider = await startFakeProvider();
    await using lab = await openLab(browser);
    const { hub, page } = lab;
    await using _ada = await joinTunnel(hub, lab.code, { endpoint: provider.url });
    const stored = () =>
      page.evaluate(() =>
        [localStorage, sessionStorage].map((each) => JSON.stringify(each)).join(),
      );
    await openChat(page);
    await ask(page, "a secret question");
    await page.locator(".answer.is-done").waitFor();
    expect(await stored()).not.toContain("secret");
    await page.getByLabel("Keep in this browser").check();
    await page.reload();
    await page.locator(".prompt", { hasText: "a secret question" }).waitFor();
    expect(await page.getByLabel("Keep in this browser").isChecked()).toBe(true);
    await page.getByLabel("Keep in this browser").uncheck();
    expect(await stored()).not.toContain("secret");
    await page.reload();
    await page.getByText("Ask a model of this room").waitFor();
  });

  test("says in words what failed", async () => {
    await using lab = await openLab(browser);
    const { hub, page } = lab;
    await openChat(page);
    await page.getByText("No model of this room can chat now").waitFor();
    await ask(page, "anyone?");
    const problem = page.locator(".answer.is-failed .problem");
    await problem.waitFor();
    expect(await problem.innerText()).toMatch(/no participant/i);
    expect(await problem.innerText()).not.toContain("roomhub ");
    await hub.hub.close();
    await ask(page, "and now?");
    await page.getByText(`No connection to the hub at ${hub.url}.`, { exact: true }).waitFor();
  });

  test.each(["light", "dark"] as const)(
    "axe finds no serious violation, %s",
    async (colorScheme) => {
      await using provider = await startFakeProvider({
        behave: () => ({ kind: "normal", pieces }),
      });
      await using lab = await openLab(browser, {
        viewport: { width: 360, height: 740 },
        colorScheme,
      });
      const { hub, page } = lab;
      await using _ada = await joinTunnel(hub, lab.code, { endpoint: provider.url });
      await openChat(page);
      await page.getByRole("button", { name: "Compare" }).click();
      await ask(page, "Why?");
      await expect.poll(() => page.locator(".answer.is-done").count()).toBe(2);
      await page.evaluate(axe.source);
      expect(await seriousViolations(page)).toEqual([]);
      expect(await page.evaluate(() => document.body.scrollWidth - innerWidth)).toBeLessThanOrEqual(
        0,
      );
    },
  );
});

async function openChat(page: Page): Promise<void> {
  await page.keyboard.press("4");
  await page.getByRole("heading", { name: "Try it" }).waitFor();
}

async function ask(page: Page, prompt: string): Promise<void> {
  await page.getByLabel("Prompt").fill(prompt);
  await page.getByLabel("Prompt").press("Enter");
}

/** Presses Tab until the element with this name has the focus. */
async function focusByTab(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      return element?.getAttribute("aria-label") ?? element?.textContent ?? "";
    });
    if (focused === name) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}
