import { RoomhubClient } from "@roomhub/client";
import { followRoom, roomFigures, roomSource, type RoomState, slotsOf } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { userSays } from "../support/clients/openai-client.ts";
import { joinTunnel } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { startFakeProvider } from "../support/providers/fake-provider.ts";
import { createGate, until } from "../support/waiting.ts";

/** The state of a room as a web page would keep it. */
interface Watcher extends AsyncDisposable {
  /** @returns the first state that satisfies the condition */
  once(what: string, holds: (state: RoomState) => boolean): Promise<RoomState>;
  /** Cuts the watcher off. @returns lets it connect again */
  cut(): () => void;
}

async function watchRoom(hub: TestHub, code: string): Promise<Watcher> {
  const stop = new AbortController();
  let cut = new AbortController();
  let mayConnect = Promise.resolve();
  const client = new RoomhubClient({
    hubUrl: hub.url,
    fetch: async (url, init) => {
      await mayConnect;
      const signals = [cut.signal, ...(init?.signal ? [init.signal] : [])];
      const response = await fetch(url, { ...init, signal: AbortSignal.any(signals) });
      if (!url.includes("/events")) return response;
      // An earlier reconnect than the hub requests.
      const hasten = new TransformStream<Uint8Array, Uint8Array>({
        transform: (bytes, controller) =>
          controller.enqueue(
            new TextEncoder().encode(
              new TextDecoder().decode(bytes).replace("retry: 2000", "retry: 50"),
            ),
          ),
      });
      return new Response(response.body?.pipeThrough(hasten), { headers: response.headers });
    },
  });
  let state: RoomState | undefined;
  const following = followRoom(roomSource(client, code), {
    signal: stop.signal,
    nowMs: Date.now,
    onChange: (next) => {
      state = next;
    },
  });
  const watcher: Watcher = {
    once: async (what, holds) => {
      const reached = await until(
        what,
        () => state,
        (next) => next !== undefined && holds(next),
      );
      return reached as RoomState;
    },
    cut: () => {
      const gate = createGate();
      mayConnect = gate.opened;
      cut.abort(new Error("cut"));
      cut = new AbortController();
      return () => gate.open();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await following;
    },
  };
  await watcher.once("its first lists", ({ isSynced }) => isSynced);
  return watcher;
}

/** A room with one participant that runs one request at a time, stopped after three chunks. */
async function startBusyRoom() {
  const gate = createGate();
  const provider = await startFakeProvider({
    behave: () => ({ kind: "normal", words: 12, gate: gate.opened, gateAfterChunks: 3 }),
  });
  const hub = await startTestHub();
  const code = await hub.createRoom();
  const ada = await joinTunnel(hub, code, {
    endpoint: provider.url,
    config: { maxConcurrency: 1 },
  });
  return {
    ...{ gate, hub, code },
    send: async (who: string, model = "*") => {
      const json = { model, messages: userSays("a b"), stream: true };
      const headers = { authorization: `Bearer as-${who}` };
      const response = await hub.fetch(`/v1/rooms/${code}/chat/completions`, { json, headers });
      await response.text();
    },
    async [Symbol.asyncDispose]() {
      gate.open();
      await ada[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const kindsIn = ({ running }: RoomState) => [...running.values()].map(({ kind }) => kind);

test("requests of a room are followed from the queue to their end", async () => {
  await using room = await startBusyRoom();
  await using watcher = await watchRoom(room.hub, room.code);
  const sent = [room.send("alice")];
  await watcher.once("a stream", (state) => kindsIn(state)[0] === "streaming");
  sent.push(room.send("bob"), room.send("carol", "missing"));
  const busy = await watcher.once("a queue", (state) => kindsIn(state).includes("queued"));
  expect(slotsOf(busy).get("ada")).toMatchObject({ active: 1, limit: 1, elsewhere: 0 });
  expect([...busy.running.values()][1]).toMatchObject({ client: { id: "bob" }, place: 1 });
  room.gate.open();
  await Promise.all(sent);
  const done = await watcher.once("three ends", ({ recent }) => recent.length === 3);
  expect(done.running.size).toBe(0);
  expect(done.recent.map((one) => `${one.client.id} ${one.kind}`).toSorted()).toEqual([
    "alice done",
    "bob done",
    "carol failed",
  ]);
  const figures = roomFigures(done, Date.now());
  expect(figures).toMatchObject({ requests: 3, errors: 1 });
  expect(figures.ttftP50Ms).toBeGreaterThan(0);
});

test("a watcher that comes late knows what runs", async () => {
  await using room = await startBusyRoom();
  await using early = await watchRoom(room.hub, room.code);
  const sent = [room.send("alice")];
  await early.once("a stream", (state) => kindsIn(state)[0] === "streaming");
  sent.push(room.send("bob"));
  await early.once("a queue", (state) => kindsIn(state).includes("queued"));
  await using late = await watchRoom(room.hub, room.code);
  expect(kindsIn(await late.once("its lists", () => true))).toEqual(["streaming", "queued"]);
  room.gate.open();
  await Promise.all(sent);
  const done = await late.once("both ends", ({ running }) => running.size === 0);
  expect(done.recent.map(({ kind }) => kind)).toEqual(["done", "done"]);
});

test("a watcher that was cut off knows afterwards what has ended", async () => {
  await using room = await startBusyRoom();
  await using watcher = await watchRoom(room.hub, room.code);
  const sent = [room.send("alice"), room.send("bob")];
  await watcher.once("both", (state) => kindsIn(state).join() === "streaming,queued");
  const reconnect = watcher.cut();
  room.gate.open();
  await Promise.all(sent);
  reconnect();
  const done = await watcher.once("the lists", ({ running }) => running.size === 0);
  expect(done.log.map(({ text }) => text)).toContain("2 requests ended while disconnected");
  expect([...done.participants.keys()]).toEqual(["ada"]);
});
