import { RoomhubClient } from "@roomhub/client";
import { pause, systemWorld } from "@roomhub/protocol";
import { roomSource } from "@roomhub/room-state";
import { render } from "preact";
import { readAddress } from "./address.ts";
import { App } from "./app.tsx";
import { type FeedView, startFeed } from "./live/room-feed.ts";
import { createPainter } from "./live/painter.ts";
import { keepKey, takeKey } from "./live/room-key.ts";
import { browserTabs, sharedSource } from "./live/shared-source.ts";
import { createChat } from "./chat/chat.ts";
import { keptChat } from "./chat/kept-chat.ts";
import { promptSender } from "./chat/send-prompt.ts";
import { Unreachable } from "./unreachable.tsx";

/** Texts that change more often cannot be read. */
const paintEveryMs = 50;
/** Stopwatches run although nothing happens. */
const tickMs = 100;
const idleTickMs = 1_000;

const page = document.getElementById("page");
if (page === null) throw new Error("the page has no #page");
const address = readAddress(location.href);
if (address.kind === "room") watch(page, address);
else render(<Unreachable address={address} />, page);

function watch(page: HTMLElement, address: { hubUrl: string; room: string }): void {
  const storage = () => sessionStorage;
  // First: nothing else sees the address with a key in it.
  const key = takeKey({ location, history, storage }, address);
  const onKey = (given: string) => {
    keepKey(storage, address, given);
    location.reload();
  };
  const stop = new AbortController();
  let view: FeedView | undefined;
  const painter = createPainter({
    draw: () => {
      if (view === undefined) return;
      const onRetry = () => feed.retry();
      render(<App {...{ address, view, chat, onRetry, onKey }} nowMs={Date.now()} />, page);
    },
    requestFrame: (callback) => void requestAnimationFrame(callback),
    after: (ms, callback) => void setTimeout(callback, ms),
    nowMs: () => performance.now(),
    minimumMs: paintEveryMs,
  });
  const kept = keptChat(() => localStorage, `roomhub.chat ${address.hubUrl} ${address.room}`);
  const chat = createChat(promptSender({ ...address, key }), kept, () => painter.request());
  const tick = () => {
    painter.request();
    setTimeout(tick, view !== undefined && view.state.running.size > 0 ? tickMs : idleTickMs);
  };
  tick();
  const source = roomSource(new RoomhubClient({ ...address, key }), address.room);
  const tabs = browserTabs(`roomhub ${address.hubUrl} ${address.room}`);
  const feed = startFeed(tabs === undefined ? source : sharedSource(source, tabs), {
    ...address,
    signal: stop.signal,
    nowMs: Date.now,
    sleep: (ms, signal) => pause(systemWorld, ms, signal),
    onChange: (next) => {
      view = next;
      painter.request();
    },
  });
  addEventListener("pagehide", (event) => {
    // A page that may be shown again keeps its stream.
    if (!event.persisted) stop.abort();
  });
}
