import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { build, type Rolldown } from "vite";
import { afterAll, beforeAll } from "vitest";
import type { Operations, Present, StreamListener, Tool } from "../client.ts";
import { describeClient } from "../describe-client.ts";
import type { PageCall, Surface } from "./browser-page.ts";

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const missing = executablePath === undefined ? "chromium is not installed here" : undefined;

const stack = new AsyncDisposableStack();
/** What the page may call in the test while an operation runs. */
const outside = {
  listener: undefined as StreamListener | undefined,
  tool: undefined as Tool | undefined,
};
let page: Page;

beforeAll(async () => {
  if (missing !== undefined) return;
  const origin = await servePage(await bundlePage());
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  stack.defer(() => browser.close());
  page = await browser.newPage();
  await page.exposeFunction("tellText", (text: string) => {
    outside.listener?.onText(text);
    return outside.listener?.signal.aborted === true;
  });
  await page.exposeFunction("runTool", (input: unknown) => outside.tool?.run(input));
  await page.goto(origin);
});
afterAll(() => stack.disposeAsync());

describeClient({
  name: "openai, chat, in Chromium",
  speaks: "chat",
  missing,
  does: operationsInPage("chat"),
});

describeClient({
  name: "openai, responses, in Chromium",
  speaks: "responses",
  missing,
  does: operationsInPage("responses"),
});

function operationsInPage(surface: Surface): Present<Operations> {
  function operate<Result>(call: Omit<PageCall, "surface">): Promise<Result> {
    const { roomUrl, baseUrl, model } = call.target;
    const plain: PageCall = { ...call, surface, target: { roomUrl, baseUrl, model } };
    return page.evaluate((call) => window.operate(call), plain) as Promise<Result>;
  }

  return {
    listModels: (target) => operate({ name: "listModels", target, args: [] }),
    ask: (target, prompt) => operate({ name: "ask", target, args: [prompt] }),
    stream(target, prompt, listener) {
      outside.listener = listener;
      return operate({ name: "stream", target, args: [prompt, "listener"] });
    },
    useTool(target, prompt, tool) {
      outside.tool = tool;
      const { name, description, parameters } = tool;
      const args = [prompt, { name, description, parameters }];
      return operate({ name: "useTool", target, args });
    },
    askForJson: (target, prompt, schema) =>
      operate({ name: "askForJson", target, args: [prompt, schema] }),
    askAboutImage: (target, prompt, image) =>
      operate({ name: "askAboutImage", target, args: [prompt, image] }),
    fail: (target, model, prompt) => operate({ name: "fail", target, args: [model, prompt] }),
  };
}

/** @returns one script, the package included */
async function bundlePage(): Promise<string> {
  const input = fileURLToPath(new URL("browser-page.ts", import.meta.url));
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: { write: false, minify: false, rolldownOptions: { input } },
  });
  const [script] = (built as Rolldown.RolldownOutput).output;
  return script.code;
}

/** On a port of its own, so that every request to the hub is to another origin. */
async function servePage(script: string): Promise<string> {
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(
      isScript ? script : '<!doctype html><script type="module" src="/page.js"></script>',
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
