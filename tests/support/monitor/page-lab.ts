import type { HubOptions } from "@roomhub/hub";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { userSays } from "../clients/openai-client.ts";
import { startTestHub, type TestHub } from "../hub/start-test-hub.ts";
import { openWatchedPage } from "./watched-page.ts";

export interface PageLab extends AsyncDisposable {
  hub: TestHub;
  code: string;
  page: Page;
  /** errors of the page's console, and requests to anything but the page and the hub */
  problems: string[];
}

/** A hub with a room, and the page that watches it. */
export async function openLab(
  browser: Browser,
  context: BrowserContextOptions = {},
  options: HubOptions = {},
): Promise<PageLab> {
  const stack = new AsyncDisposableStack();
  const hub = stack.use(await startTestHub(options));
  const code = await hub.createRoom();
  const watched = stack.use(
    await openWatchedPage(
      browser,
      { hubUrl: hub.url, code },
      { viewport: { width: 1_280, height: 800 }, reducedMotion: "reduce", ...context },
    ),
  );
  const { page, problems } = watched;
  return { hub, code, page, problems, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** A request of alice. @returns its response, whole */
export async function send(hub: TestHub, code: string, user: string, model = "*"): Promise<string> {
  const response = await hub.fetch(`/rooms/${code}/v1/chat/completions`, {
    json: { model, user, stream: true, messages: userSays("a b c d e f") },
    headers: { authorization: "Bearer as-alice" },
  });
  return response.text();
}
