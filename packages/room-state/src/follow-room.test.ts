import { describe, expect, test } from "vitest";
import { followRoom, type Link } from "./follow-room.ts";
import { aParticipant, joined, listed, noonMs, sent, texts } from "./room-events.fixture.ts";
import type { RoomEvent } from "./reduce.ts";
import type { RoomSource } from "./room-source.ts";
import type { RoomState } from "./state.ts";

interface Followed {
  state: RoomState | undefined;
  links: Link["kind"][];
}

/** Follows a source until its events end. */
async function follow(
  source: RoomSource,
  signal = new AbortController().signal,
): Promise<Followed> {
  const followed: Followed = { state: undefined, links: [] };
  await followRoom(source, {
    signal,
    nowMs: () => noonMs,
    onChange: (state, link) => {
      followed.state = state;
      if (followed.links.at(-1) !== link.kind) followed.links.push(link.kind);
    },
  });
  return followed;
}

function sourceOf(
  play: (options: Parameters<RoomSource["events"]>[0]) => AsyncGenerator<RoomEvent>,
  lists: RoomSource["lists"] = async () => ({ participants: [], requests: [] }),
): RoomSource {
  return { events: play, lists };
}

describe("followRoom", () => {
  test("reduces events after the lists that were read when the stream was opened", async () => {
    const hasEvent = Promise.withResolvers<void>();
    const source = sourceOf(
      async function* ({ onOpen }) {
        onOpen();
        // The lists arrive when the event has been waiting for a while.
        setImmediate(hasEvent.resolve);
        yield sent("r2");
      },
      async () => {
        await hasEvent.promise;
        return { participants: [aParticipant()], requests: [listed("r1")] };
      },
    );
    const { state, links } = await follow(source);
    expect([...(state?.running.keys() ?? [])]).toEqual(["r1", "r2"]);
    expect(links).toEqual(["open"]);
  });

  test("reads the lists again after a reconnect, and keeps figures and log", async () => {
    const requests = [[listed("r1")], []];
    const source = sourceOf(
      async function* ({ onOpen, onDisconnect }) {
        onOpen();
        yield joined();
        onDisconnect("ECONNRESET", 2_000);
        onOpen();
        yield sent("r2");
      },
      async () => ({ participants: [aParticipant()], requests: requests.shift() ?? [] }),
    );
    const { state, links } = await follow(source);
    expect(links).toEqual(["open", "broken", "open"]);
    expect([...(state?.running.keys() ?? [])]).toEqual(["r2"]);
    expect(texts(state as RoomState)).toEqual([
      "disconnected: ECONNRESET",
      "connected again",
      "1 request ended while disconnected",
    ]);
  });

  test("knows when it was not connected, and goes on with what it knew", async () => {
    let nowMs = noonMs;
    const states: RoomState[] = [];
    const source = sourceOf(async function* ({ onOpen, onDisconnect }) {
      onOpen();
      yield joined();
      nowMs += 1_000;
      onDisconnect("ECONNRESET", 2_000);
      nowMs += 5_000;
      onOpen();
      yield joined();
      nowMs += 1_000;
      throw new Error("no hub");
    });
    const options = {
      signal: new AbortController().signal,
      nowMs: () => nowMs,
      onChange: (state: RoomState) => void states.push(state),
    };
    await expect(followRoom(source, options)).rejects.toThrow("no hub");
    const before = states.at(-1);
    expect(before?.watched).toEqual([
      { fromMs: noonMs, toMs: noonMs + 1_000 },
      { fromMs: noonMs + 6_000, toMs: noonMs + 7_000 },
    ]);
    const again = sourceOf(async function* ({ onOpen }) {
      onOpen();
      yield joined();
    });
    await followRoom(again, { ...options, from: before });
    const log = texts(states.at(-1) as RoomState);
    expect(log.filter((text) => text === "connected again")).toHaveLength(2);
    expect(log.slice(0, 2)).toEqual(["ana-llama3 joined with llama3", "disconnected: ECONNRESET"]);
  });

  test("logs that events were left out", async () => {
    const source = sourceOf(async function* ({ onOpen, onInvalidEvent }) {
      onOpen();
      onInvalidEvent?.("the hub sent llm.complete without a valid metrics");
      yield joined();
    });
    const { state } = await follow(source);
    expect(texts(state as RoomState)).toContain(
      "the hub sent llm.complete without a valid metrics",
    );
  });

  test("throws when the lists cannot be read the first time", async () => {
    const source = sourceOf(
      // oxlint-disable-next-line require-yield -- it is stopped before it could
      async function* ({ onOpen, signal }) {
        onOpen();
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      () => Promise.reject(new Error("room not found")),
    );
    await expect(follow(source)).rejects.toThrow("room not found");
  });

  test("reads the lists again with the next event when they could not be read after a reconnect", async () => {
    const readable = [true, false, true];
    const source = sourceOf(
      async function* ({ onOpen, onDisconnect }) {
        onOpen();
        yield joined();
        onDisconnect("ECONNRESET", 2_000);
        onOpen();
        yield sent("r1");
      },
      async () => {
        if (readable.shift() === false) throw new Error("503");
        return { participants: [aParticipant({ id: "cat" })], requests: [] };
      },
    );
    const { state } = await follow(source);
    expect(readable).toEqual([]);
    expect(texts(state as RoomState)).toContain("the room's lists could not be read: 503");
    expect([...(state?.running.keys() ?? [])]).toEqual(["r1"]);
  });

  test("ends without an error when its signal aborts", async () => {
    const controller = new AbortController();
    const source = sourceOf(async function* ({ onOpen, signal }) {
      onOpen();
      controller.abort();
      yield* signal.aborted ? [] : [joined()];
    });
    const { state } = await follow(source, controller.signal);
    expect(state?.participants.size).toBe(0);
  });

  test("throws a failure of the stream", async () => {
    // oxlint-disable-next-line require-yield -- it fails before it could
    const source = sourceOf(async function* () {
      throw new Error("no hub");
    });
    const changes: unknown[] = [];
    const { signal } = new AbortController();
    const following = followRoom(source, {
      signal,
      nowMs: () => noonMs,
      onChange: (state) => changes.push(state),
    });
    await expect(following).rejects.toThrow("no hub");
    // A screen that nothing was shown on stays as it is.
    expect(changes).toEqual([]);
  });
});
