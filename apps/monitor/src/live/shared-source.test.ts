import type { RoomEvent, RoomSource } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { sharedSource, type TabMessage, type Tabs } from "./shared-source.ts";

/** A browser with any number of tabs. */
class Browser {
  readonly #channels = new Set<(message: TabMessage) => void>();
  readonly #waiting: (() => void)[] = [];
  #isLed = false;

  readonly tabs: Tabs = {
    open: (onMessage) => {
      this.#channels.add(onMessage);
      return {
        post: (message) => {
          for (const other of this.#channels) if (other !== onMessage) other(message);
        },
        close: () => this.#channels.delete(onMessage),
      };
    },
    lead: async (signal) => {
      if (this.#isLed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
      if (signal.aborted) return this.#release();
      this.#isLed = true;
      return () => this.#release();
    },
  };

  #release(): never | (() => void) {
    this.#isLed = false;
    this.#waiting.shift()?.();
    return () => {};
  }
}

/** A hub that counts its streams, and sends to all of them. */
class Hub {
  readonly streams = new Set<(event: RoomEvent | "break") => void>();

  readonly source: RoomSource = {
    lists: async () => ({ participants: [], requests: undefined }),
    events: (options) => this.#events(options),
  };

  send(requestId: string): void {
    for (const stream of this.streams) stream({ type: "request.first", requestId } as RoomEvent);
  }

  break(): void {
    for (const stream of this.streams) stream("break");
  }

  async *#events(options: Parameters<RoomSource["events"]>[0]): AsyncGenerator<RoomEvent> {
    const arrived: (RoomEvent | "break")[] = [];
    let wake = () => {};
    const stream = (event: RoomEvent | "break") => {
      arrived.push(event);
      wake();
    };
    this.streams.add(stream);
    options.signal.addEventListener("abort", () => wake());
    options.onOpen();
    try {
      while (!options.signal.aborted) {
        for (const event of arrived.splice(0)) {
          if (event !== "break") yield event;
          else options.onDisconnect("cut", 50);
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      this.streams.delete(stream);
    }
  }
}

interface Tab {
  /** what it was told, in order */
  seen: string[];
  close: () => Promise<void>;
}

function openTab(browser: Browser, hub: Hub): Tab {
  const seen: string[] = [];
  const stop = new AbortController();
  const running = (async () => {
    const events = sharedSource(hub.source, browser.tabs).events({
      signal: stop.signal,
      onOpen: () => seen.push("open"),
      onDisconnect: (reason) => seen.push(reason),
    });
    for await (const event of events) seen.push((event as { requestId: string }).requestId);
  })();
  return {
    seen,
    close: () => {
      stop.abort();
      return running;
    },
  };
}

const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

test("three tabs see the same events, and the hub has one stream", async () => {
  const [browser, hub] = [new Browser(), new Hub()];
  const tabs = [openTab(browser, hub), openTab(browser, hub), openTab(browser, hub)];
  await settled();
  expect(hub.streams.size).toBe(1);
  for (const { seen } of tabs) seen.splice(0, seen.lastIndexOf("open"));
  hub.send("a");
  hub.break();
  hub.send("b");
  await settled();
  expect(tabs.map(({ seen }) => seen)).toEqual(Array.from(tabs, () => ["open", "a", "cut", "b"]));
  await Promise.all(tabs.map(({ close }) => close()));
  expect(hub.streams.size).toBe(0);
});

test("when the tab with the stream is closed, another one opens it and passes it on", async () => {
  const [browser, hub] = [new Browser(), new Hub()];
  const first = openTab(browser, hub);
  await settled();
  const others = [openTab(browser, hub), openTab(browser, hub)];
  await settled();
  await first.close();
  await settled();
  expect(hub.streams.size).toBe(1);
  for (const { seen } of others) seen.splice(0, seen.lastIndexOf("open"));
  hub.send("a");
  await settled();
  expect(others.map(({ seen }) => seen)).toEqual([
    ["open", "a"],
    ["open", "a"],
  ]);
  expect(first.seen).not.toContain("a");
  await Promise.all(others.map(({ close }) => close()));
  expect(hub.streams.size).toBe(0);
});

test("a broken stream is opened again at once when another tab is opened, or retries", async () => {
  const [browser, hub] = [new Browser(), new Hub()];
  const first = openTab(browser, hub);
  await settled();
  hub.break();
  await settled();
  expect(first.seen).toEqual(["open", "cut"]);
  const other = openTab(browser, hub);
  await settled();
  expect(first.seen).toEqual(["open", "cut", "open"]);
  expect(other.seen.at(-1)).toBe("open");
  expect(hub.streams.size).toBe(1);
  await Promise.all([first.close(), other.close()]);
  expect(hub.streams.size).toBe(0);
});

test("a failure of the tab with the stream ends it there, and the next tab has its own try", async () => {
  const browser = new Browser();
  const hub = new Hub();
  const failing: RoomSource = {
    ...hub.source,
    events: () => {
      throw new Error("unreachable");
    },
  };
  const stop = new AbortController();
  const options = { signal: stop.signal, onOpen: () => {}, onDisconnect: () => {} };
  const events = sharedSource(failing, browser.tabs).events(options);
  const failed = events[Symbol.asyncIterator]().next();
  const other = openTab(browser, hub);
  await expect(failed).rejects.toThrow("unreachable");
  await settled();
  expect(hub.streams.size).toBe(1);
  expect(other.seen).toEqual(["open"]);
  await other.close();
});
