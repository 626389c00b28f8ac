import { describe, expect, test } from "vitest";
import { roomFigures } from "./figures/figures.ts";
import { reduce } from "./reduce.ts";
import {
  after,
  complete,
  failure,
  first,
  joined,
  left,
  noonMs,
  offline,
  progress,
  queued,
  sent,
  texts,
  updated,
} from "./room-events.fixture.ts";
import type { RoomEvent } from "./reduce.ts";
import { machineSlots, slotsOf } from "./slots.ts";
import { initialState, type RoomState } from "./state.ts";

describe("a request", () => {
  test("is queued, waits for its first token, streams and is done", () => {
    let state = after([joined(), queued("r1", 1, { conversation: "0a1b2c3d" })]);
    expect(state.running.get("r1")).toMatchObject({ kind: "queued", place: 1, attempt: 0 });
    state = reduce(state, sent("r1"), noonMs + 500);
    expect(state.running.get("r1")).toMatchObject({
      kind: "waiting",
      participantId: "ana-llama3",
      model: "llama3",
      startedMs: noonMs,
      sentMs: noonMs + 500,
      conversation: "0a1b2c3d",
    });
    state = reduce(state, first("r1", 250), noonMs + 750);
    state = reduce(state, progress("r1", 40), noonMs + 2_750);
    expect(state.running.get("r1")).toMatchObject({
      kind: "streaming",
      ttftMs: 250,
      outputTokens: 40,
      tokensPerSecond: 20,
    });
    expect(roomFigures(state, noonMs + 2_750).tokensPerSecond).toBe(20);
    state = reduce(state, complete("r1", { outputTokens: 50 }), noonMs + 3_250);
    expect(state.running.size).toBe(0);
    expect(state.recent).toMatchObject([
      { kind: "done", requestId: "r1", conversation: "0a1b2c3d", metrics: { outputTokens: 50 } },
    ]);
  });

  test("that fails has its stage, its error and the next step", () => {
    const { recent } = after([sent("r1"), failure("r1")]);
    expect(recent).toMatchObject([
      {
        kind: "failed",
        stage: "provider",
        code: "provider_disconnected",
        hint: "read the log of the participant's model server",
      },
    ]);
  });

  test("with a provider's own error code has no next step", () => {
    const { recent } = after([sent("r1"), failure("r1", { code: "toString" })]);
    expect(recent[0]).toMatchObject({ kind: "failed", hint: undefined });
  });

  test("that its client cancels is not an error", () => {
    const state = after([
      sent("r1"),
      failure("r1", { code: "client_disconnected", stage: "client" }),
    ]);
    expect(state.recent[0]).toMatchObject({ kind: "cancelled" });
    expect(roomFigures(state, noonMs)).toMatchObject({ requests: 1, errors: 0 });
  });

  test("that moves to another participant waits for its first token there", () => {
    const state = after([
      sent("r1"),
      first("r1"),
      sent("r1", { attempt: 2, participantId: "bea-qwen3", model: "qwen3" }),
    ]);
    expect(state.running.get("r1")).toMatchObject({
      kind: "waiting",
      attempt: 2,
      participantId: "bea-qwen3",
    });
    expect(texts(state)).toEqual(["alice: moved to bea-qwen3, attempt 2"]);
  });

  test("that streams before its first token was announced streams", () => {
    const state = after([sent("r1"), progress("r1", 5)], { stepMs: 300 });
    expect(state.running.get("r1")).toMatchObject({ kind: "streaming", ttftMs: 300 });
  });

  test("never produces fewer tokens than before", () => {
    const state = after([sent("r1"), first("r1"), progress("r1", 9), progress("r1", 4)]);
    expect(state.running.get("r1")).toMatchObject({ outputTokens: 9 });
  });

  test("unknown to the watcher is counted when it ends, and its progress changes nothing", () => {
    const before = after([joined()]);
    expect(after([first("r9"), progress("r9", 5)], { state: before }).running.size).toBe(0);
    const state = after([complete("r9", { outputTokens: 3 })], { state: before });
    expect(state.recent).toHaveLength(1);
    const outputTokens = { tokens: 3, worth: "exact" };
    expect(roomFigures(state, noonMs)).toMatchObject({ requests: 1, outputTokens });
  });
});

describe("places in the queue", () => {
  const places = (state: ReturnType<typeof after>) =>
    [...state.running.values()].map((one) => [one.requestId, one.kind === "queued" && one.place]);

  test("move up when a request ahead is sent or ends", () => {
    const waiting = after([queued("r1", 1), queued("r2", 2), queued("r3", 3)]);
    expect(places(after([sent("r1")], { state: waiting }))).toEqual([
      ["r1", false],
      ["r2", 1],
      ["r3", 2],
    ]);
    expect(places(after([failure("r2")], { state: waiting }))).toEqual([
      ["r1", 1],
      ["r3", 2],
    ]);
  });

  test("move down when a request takes its turn ahead of them", () => {
    const state = after([queued("r1", 1), queued("r2", 2), queued("r3", 2)]);
    expect(places(state)).toEqual([
      ["r1", 1],
      ["r2", 3],
      ["r3", 2],
    ]);
  });

  test("are as announced when a request returns to the queue", () => {
    const state = after([queued("r1", 1), queued("r2", 2), queued("r1", 2)]);
    expect(places(state)).toEqual([
      ["r1", 2],
      ["r2", 1],
    ]);
  });
});

describe("a participant", () => {
  test("joins, changes, goes offline and leaves", () => {
    const down = { ...connection, readiness: "down" as const, problem: "not ready: ECONNREFUSED" };
    const budget = { tokensPerDay: 1_000, remainingTokens: 0 };
    const state = after([
      joined(),
      updated({ connection: down }),
      updated({ connection: down, model: "qwen3", budget }),
      offline("ana-llama3"),
      left("ana-llama3", "expired"),
    ]);
    expect(state.participants.size).toBe(0);
    expect(texts(state)).toEqual([
      "ana-llama3 joined with llama3",
      "ana-llama3: not ready: ECONNREFUSED",
      "ana-llama3 shares qwen3 now",
      "ana-llama3 has used up its budget",
      "ana-llama3 is offline",
      "ana-llama3 left (expired)",
    ]);
  });

  describe("whose connection is lost while requests run", () => {
    const lost = {
      ...connection,
      connected: false,
      readiness: "loading",
      resuming: { streams: 2, sinceMs: 0 },
    } as const;

    /** Each event comes a second after the one before. */
    function over(events: readonly RoomEvent[]): RoomState {
      return events.reduce(
        (state, event, index) => reduce(state, event, noonMs + 1_000 * index),
        initialState(),
      );
    }

    test("is back after a while, and its requests go on", () => {
      const state = over([
        ...[joined(), sent("r1"), sent("r2"), updated({ connection: lost })],
        updated({ connection: { ...lost, resuming: { streams: 2, sinceMs: 1_000 } } }),
        updated(),
      ]);
      expect(texts(state).slice(1)).toEqual([
        "ana-llama3: connection lost, 2 streams waiting",
        "ana-llama3: back after 2.0 s, 2 streams go on",
      ]);
      expect(state.lost.size).toBe(0);
    });

    test("is back without those that ended meanwhile", () => {
      const events = [joined(), sent("r1"), sent("r2"), updated({ connection: lost })];
      const last = (ends: RoomEvent[]) => texts(over([...events, ...ends, updated()])).at(-1);
      expect(last([failure("r1")])).toBe("ana-llama3: back after 2.0 s, 1 stream goes on");
      expect(last([failure("r1"), failure("r2")])).toBe("ana-llama3: back after 3.0 s");
    });

    test("is not back, when it is called by the hub instead or not at all", () => {
      const closed = { ...connection, connected: false, readiness: "down" } as const;
      const direct = { ...connection, path: "direct" } as const;
      const after = (next: typeof closed | typeof direct) =>
        texts(over([joined(), updated({ connection: lost }), updated({ connection: next })]));
      expect(after(closed).at(-1)).toBe("ana-llama3: not back after 1.0 s, its streams ended");
      expect(after(direct).slice(-2)).toEqual([
        "ana-llama3: not back after 1.0 s, its streams ended",
        "ana-llama3 is connected (direct)",
      ]);
    });

    test("may be offline meanwhile, or leave", () => {
      const events = [joined(), updated({ connection: lost }), offline("ana-llama3")];
      expect(texts(over([...events, updated()])).slice(-2)).toEqual([
        "ana-llama3 is online",
        "ana-llama3: back after 2.0 s",
      ]);
      expect(over([...events, left("ana-llama3")]).lost.size).toBe(0);
    });
  });

  test("that is offline already is not offline again", () => {
    const state = after([joined(), offline("ana-llama3"), offline("ana-llama3")]);
    expect(texts(state)).toEqual(["ana-llama3 joined with llama3", "ana-llama3 is offline"]);
  });

  test("that is not known may leave and go offline", () => {
    const state = after([offline("zed"), left("zed")]);
    expect(state).toEqual(initialState());
  });

  test("has as many busy slots as requests that run there, whatever its last update said", () => {
    const state = after([
      joined({ load: { active: 3, queued: 0, limit: 4, limitFrom: "engine", elsewhere: 1 } }),
      sent("r1"),
      queued("r2", 1),
    ]);
    expect(slotsOf(state).get("ana-llama3")).toEqual({
      active: 1,
      limit: 4,
      elsewhere: 1,
      waiting: 0,
    });
  });

  test("shares the slots of its machine with other participants", () => {
    const machine = { id: "m1", active: 3, limit: 4 };
    const load = { active: 1, queued: 0, limit: 4, limitFrom: "engine" as const, machine };
    const state = after([joined({ load }), sent("r1")]);
    expect(slotsOf(state).get("ana-llama3")).toEqual({
      active: 1,
      limit: 4,
      elsewhere: 2,
      waiting: 0,
    });
  });

  test("has a machine with as many busy slots as its participants have, however old their updates are", () => {
    const load = (active: number, ofMachine: number, limit = 4) => ({
      ...{ active, queued: 0, limit, limitFrom: "engine" as const },
      machine: { id: "m1", active: ofMachine, limit: 4 },
    });
    const at = (participantId: string) => ({ participantId, model: "llama3" });
    // Ana was updated after her request had begun, and knows of work in another room; Bea was not.
    const state = after([
      joined({ id: "ana", load: load(1, 2) }),
      joined({ id: "bea", load: load(0, 1, 2) }),
      ...[sent("r1", at("ana")), sent("r2", at("bea")), sent("r3", at("bea"))],
    ]);
    expect(machineSlots(state).get("m1")).toEqual({ active: 3, limit: 4, elsewhere: 0 });
    expect(slotsOf(state).get("ana")).toMatchObject({ active: 1, elsewhere: 2 });
    expect(slotsOf(state).get("bea")).toMatchObject({ active: 2, limit: 2, elsewhere: 0 });
    const both = after([joined({ id: "bea", load: load(0, 2, 2) })], { state });
    expect(machineSlots(both).get("m1")).toEqual({ active: 3, limit: 4, elsewhere: 1 });
  });

  test("could serve no more waiting requests than the room has, whatever its last update said", () => {
    const load = { active: 0, queued: 3, limit: 4, limitFrom: "engine" as const };
    const events = [joined({ load }), queued("r1", 1), queued("r2", 2), sent("r1")];
    const waiting = [2, 3, 4].map(
      (count) => slotsOf(after(events.slice(0, count))).get("ana-llama3")?.waiting,
    );
    expect(waiting).toEqual([1, 2, 1]);
  });
});

test("a stream whose first token was not seen has a rate from its second count on", () => {
  const counts = [30, 50].map((tokens) => progress("r1", tokens));
  let state = after([sent("r1")]);
  const rates = counts.map((event, index) => {
    state = reduce(state, event, noonMs + 1_000 * (index + 1));
    const request = state.running.get("r1");
    return request?.kind === "streaming" ? request.tokensPerSecond : "none";
  });
  expect(rates).toEqual([undefined, 20]);
});

test("events with an unknown name change nothing", () => {
  const state = after([joined(), sent("r1")]);
  const unknown = { type: "participant.waved", requestId: "r1" } as unknown as RoomEvent;
  expect(reduce(state, unknown, noonMs)).toBe(state);
});

test("names spelled with a colon mean the same", () => {
  const events = [
    joined(),
    queued("r1", 1),
    sent("r1"),
    first("r1"),
    progress("r1", 3),
    failure("r1"),
  ];
  const colon = events.map(
    (event) => ({ ...event, type: event.type.replace(".", ":") }) as unknown as RoomEvent,
  );
  expect(after(colon)).toEqual(after(events));
});

test("parts that an event does not concern stay the same objects", () => {
  const before = after([joined(), sent("r1")]);
  const state = reduce(before, first("r1"), noonMs);
  expect(state.participants).toBe(before.participants);
  expect(state.log).toBe(before.log);
  expect(before.running.get("r1")?.kind).toBe("waiting");
});

const connection = {
  kind: "tunnel",
  connected: true,
  lastTunnelSeenAt: null,
  path: "tunnel",
  readiness: "ready",
} as const;
