import axe from "axe-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadPageFiles } from "../../packages/cli/src/watch/monitor/page-files.ts";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { chromiumPath, launchChromium } from "../support/monitor/watched-page.ts";
import { hasOpenssl, makeCertificate } from "../support/programs/certificate.ts";
import { freePort, hasNginx, startNginx } from "../support/programs/nginx.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { until } from "../support/waiting.ts";

const program = Buffer.from("the program");
const handout = { program: async () => program, sdk: async () => program, monitor: loadPageFiles };
const why = chromiumPath === undefined ? " (skipped: chromium is not installed here)" : "";

describe.skipIf(chromiumPath === undefined)(`pages for people${why}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launchChromium();
  }, 60_000);
  afterAll(() => browser.close());

  test.each([
    ["a phone", { viewport: { width: 360, height: 740 } }],
    ["a phone in the dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
    ["a desktop", { viewport: { width: 1_280, height: 800 } }],
  ] as const)("a room on %s: one click selects the whole line", async (_what, options) => {
    await using lab = await openLab();
    await using opened = await open(browser, options);
    const { page, problems, requests } = opened;
    const url = `${lab.hub.url}/rooms/${lab.code}`;
    await page.goto(url);

    const line = `npx -y ${lab.hub.url}/roomhub.tgz join ${url}`;
    for (const text of [`${url}/v1`, line]) {
      await page.locator("pre code", { hasText: text }).first().click();
      expect(await page.evaluate(() => getSelection()?.toString())).toBe(text);
    }
    expect(await page.getByRole("listitem").innerText()).toContain("fake-model from Ada");
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      options.viewport.width,
    );
    expect(await violations(page)).toEqual([]);
    expect(requests).toEqual([url]);
    expect(problems).toEqual([]);
  });

  test("the hub's page leads to the room, and the room to its monitor", async () => {
    await using lab = await openLab();
    await using opened = await open(browser, {});
    const { page, problems } = opened;
    await page.goto(lab.hub.url);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("link", { name: "Watch lab" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "lab", exact: true }).click();
    await page.getByRole("link", { name: "Try it" }).click();
    await page.getByRole("heading", { name: "Try it" }).waitFor();
    expect(problems).toEqual([]);
  });

  test("where a page says that sharing asks for a join password, it says that use does not", async () => {
    await using lab = await openLab();
    await using opened = await open(browser, {});
    const { page } = opened;
    const code = await lab.hub.createRoom("swordfish");
    await page.goto(`${lab.hub.url}/rooms/${code}`);
    await page.getByText(/join password, which restricts who shares and not who uses/).waitFor();
    await page.getByRole("link", { name: "Try it" }).click();
    await page.getByRole("link", { name: "Invite", exact: true }).first().click();
    await page.getByText(/join password\. The password does not restrict use/).waitFor();
    await page.goto(`${lab.hub.url}/rooms/${lab.code}/watch#invite`);
    await page.getByRole("heading", { name: "Invite" }).waitFor();
    expect(await page.getByText("join password").count()).toBe(0);
  });

  test.skipIf(!hasNginx || !hasOpenssl)(
    "behind nginx with TLS and below a path, every URL is the one that leads back",
    async () => {
      await using stack = new AsyncDisposableStack();
      const lab = stack.use(await openLab({ trustProxy: ["127.0.0.1"] }));
      const base = await startTlsPrefix(lab.hub, stack);
      const opened = stack.use(await open(browser, { ignoreHTTPSErrors: true }));
      const { page, problems } = opened;
      const room = `${base}/rooms/${lab.code}`;
      await page.goto(room);
      const lines = await page.locator("code").allInnerTexts();
      expect(lines).toContain(`npx -y ${base}/roomhub.tgz join ${room}`);
      const download = await page.request.get(`${base}/roomhub.tgz`);
      expect(await download.body()).toEqual(program);
      await page.getByRole("link", { name: "Watch", exact: true }).click();
      await page.getByText("Live", { exact: true }).waitFor();
      expect(new URL(page.url()).pathname).toBe("/lab/monitor/");
      expect(problems).toEqual([]);
    },
  );
});

async function openLab(options: { trustProxy?: string[] } = {}) {
  const stack = new AsyncDisposableStack();
  const provider = stack.use(await startFakeProvider());
  const hub = stack.use(await startTestHub({ handout, ...options }));
  const code = await hub.createRoom();
  await joinDirect(hub, code, { endpoint: provider.url, nickname: "Ada" });
  return { hub, code, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function open(browser: Browser, options: BrowserContextOptions) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const problems: string[] = [];
  const requests: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith("data:")) requests.push(request.url());
  });
  return { page, problems, requests, [Symbol.asyncDispose]: () => context.close() };
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const result = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run(),
  );
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}

/** @returns the hub's URL below a path of nginx */
async function startTlsPrefix(hub: TestHub, stack: AsyncDisposableStack): Promise<string> {
  const { certificateFile, keyFile } = await makeCertificate(stack);
  const port = await freePort();
  await startNginx(
    `map $http_upgrade $connection_upgrade { default upgrade; "" ""; }
server {
  listen 127.0.0.1:${port} ssl;
  ssl_certificate ${certificateFile};
  ssl_certificate_key ${keyFile};
  location /lab/ {
    proxy_pass ${hub.url}/;
    proxy_http_version 1.1;
    proxy_buffering off;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_upgrade;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_set_header X-Forwarded-Prefix /lab;
  }
}`,
    stack,
  );
  await until(
    "nginx to listen",
    () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status !== 0,
  );
  return `https://localhost:${port}/lab`;
}
