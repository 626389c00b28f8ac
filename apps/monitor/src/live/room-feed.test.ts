import { errorFromResponse, HubUnreachableError } from "@roomhub/client";
import type { RoomEvent, RoomSource } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { type FeedView, startFeed } from "./room-feed.ts";

const nothing = { participants: [], requests: undefined };
const unreachable = new HubUnreachableError("http://hub", new TypeError("Failed to fetch"));

type Script = Error | RoomEvent[];

/** Opens as often as it has scripts, each a reason to fail or the events until it ends for good. */
function sourceOf(scripts: Script[], stop: AbortController): RoomSource {
  return {
    async *events({ onOpen }) {
      const script = scripts.shift();
      if (script === undefined) return stop.abort();
      if (script instanceof Error) throw script;
      onOpen();
      yield* script;
      throw unreachable;
    },
    lists: async () => nothing,
  };
}

/** @param onSleep - a person may press the button meanwhile */
async function run(
  scripts: Script[],
  onSleep: (feed: ReturnType<typeof startFeed> | undefined) => void = () => {},
) {
  const stop = new AbortController();
  const views: FeedView[] = [];
  const sleeps: number[] = [];
  let feed: ReturnType<typeof startFeed> | undefined = undefined;
  feed = startFeed(sourceOf(scripts, stop), {
    ...{ hubUrl: "http://hub", room: "ABC234", signal: stop.signal, nowMs: () => 1_000 },
    sleep: async (ms) => {
      sleeps.push(ms);
      await Promise.resolve();
      onSleep(feed);
    },
    onChange: (view) => views.push(view),
  });
  await feed.ended;
  return { views, sleeps };
}

const left = {
  type: "participant.left",
  timestamp: "",
  roomCode: "ABC234",
  participantId: "ada",
  nickname: "Ada",
} as RoomEvent;

test("a hub that is unreachable is a problem in words, until it is reached", async () => {
  const { views, sleeps } = await run([unreachable, [left]]);
  const texts = views.flatMap(({ problem }) => problem?.text ?? []);
  expect(new Set(texts)).toEqual(new Set(["No connection to the hub at http://hub"]));
  expect(views.find(({ problem }) => problem !== undefined)?.problem?.retryAtMs).toBe(3_000);
  expect(sleeps[0]).toBe(2_000);
  const isShown = views.findIndex(({ state }) => state.isSynced);
  expect(views[isShown]?.problem).toBeUndefined();
});

test("what was known of a room stays while it cannot be read, with the time until which it is true", async () => {
  const { views } = await run([[left], unreachable]);
  const last = views.at(-1);
  expect(last?.problem).toBeDefined();
  expect(last?.state.isSynced).toBe(true);
  expect(last?.state.watched.at(-1)?.toMs).toBe(1_000);
});

test("a room that does not exist is tried again by a person, not by a timer", async () => {
  const response = new Response("", { status: 404 });
  const body = JSON.stringify({ error: { message: "Room …", code: "room_not_found", hint: "…" } });
  const unknown = errorFromResponse(response, body);
  let presses = 0;
  const { views, sleeps } = await run([unknown, [left]], (feed) => {
    presses++;
    feed?.retry();
  });
  expect(views.find(({ problem }) => problem !== undefined)?.problem).toEqual({
    text: "The hub at http://hub has no room ABC234",
    retryAtMs: undefined,
    needsKey: false,
  });
  expect(sleeps[0]).toBe(86_400_000);
  expect(presses).toBeGreaterThan(0);
});

test("a closed room needs a key, which only a person has", async () => {
  const response = new Response("", { status: 401 });
  const body = JSON.stringify({ error: { message: "Room …", code: "invalid_api_key" } });
  const { views, sleeps } = await run([errorFromResponse(response, body), [left]]);
  expect(views.find(({ problem }) => problem !== undefined)?.problem).toEqual({
    text: "Room ABC234 is closed. Its host gives out keys",
    retryAtMs: undefined,
    needsKey: true,
  });
  expect(sleeps[0]).toBe(86_400_000);
});

test("the button ends an attempt whose stream is broken", async () => {
  const stop = new AbortController();
  let opened = 0;
  const source: RoomSource = {
    // oxlint-disable-next-line require-yield -- it waits for its next attempt
    async *events({ onOpen, onDisconnect, signal }) {
      onOpen();
      if (++opened === 2) return stop.abort();
      onDisconnect("network error", 15_000);
      feed.retry();
      if (!signal.aborted) throw new Error("the attempt goes on");
    },
    lists: async () => nothing,
  };
  const views: FeedView[] = [];
  const feed = startFeed(source, {
    ...{ hubUrl: "http://hub", room: "ABC234", signal: stop.signal, nowMs: () => 1_000 },
    sleep: async () => {},
    onChange: (view) => views.push(view),
  });
  await feed.ended;
  expect(opened).toBe(2);
  expect(views.flatMap(({ problem }) => problem ?? [])).toContainEqual({
    text: "No connection to the hub at http://hub",
    retryAtMs: 16_000,
    needsKey: false,
  });
});
