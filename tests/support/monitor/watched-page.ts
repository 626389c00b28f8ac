import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { serveMonitor } from "../../../packages/cli/src/watch/monitor/page-server.ts";

/** Undefined where chromium is not installed. */
export const chromiumPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);

/** @param hosts - names that lead to ports of this machine, such as `hub.lan:5050` */
export function launchChromium(hosts: Record<string, number> = {}): Promise<Browser> {
  const rules = Object.entries(hosts).map(([host, port]) => `MAP ${host} 127.0.0.1:${port}`);
  return chromium.launch({
    executablePath: chromiumPath,
    args: ["--no-sandbox", `--host-resolver-rules=${rules.join(",")}`],
  });
}

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** errors of the page's console, and requests to anything but the page and the hub */
  readonly problems: string[];
}

/** The page, served as the command serves it, once it is connected to the room. */
export async function openWatchedPage(
  browser: Browser,
  room: { hubUrl: string; code: string },
  options: BrowserContextOptions & { initScript?: () => void } = {},
): Promise<WatchedPage> {
  const { initScript, ...contextOptions } = options;
  const stack = new AsyncDisposableStack();
  const monitor = await serveMonitor({ port: 0, room });
  stack.defer(() => monitor.close());
  const context = await browser.newContext(contextOptions);
  stack.defer(() => context.close());
  if (initScript !== undefined) await context.addInitScript(initScript);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  const ours = [room.hubUrl, `http://127.0.0.1:${monitor.port}`, "data:"];
  page.on("request", (request) => {
    if (!ours.some((start) => request.url().startsWith(start))) problems.push(request.url());
  });
  await page.goto(`http://127.0.0.1:${monitor.port}/`);
  await page.getByText("Live", { exact: true }).waitFor();
  return { page, problems, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
