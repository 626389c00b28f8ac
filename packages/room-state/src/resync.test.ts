import { describe, expect, test } from "vitest";
import { roomFigures, series } from "./figures/figures.ts";
import { reduce } from "./reduce.ts";
import { resync } from "./resync.ts";
import {
  after,
  aParticipant,
  complete,
  first,
  joined,
  listed,
  noonMs,
  progress,
  queued,
  sent,
  texts,
} from "./room-events.fixture.ts";
import { initialState } from "./state.ts";

describe("the first time", () => {
  test("what is listed is there, without lines in the log", () => {
    const requests = [
      listed("r1", { state: "streaming", firstAt: noonMs - 4_000, outputTokens: 60 }),
      listed("r2"),
      listed("r3", { state: "queued", place: 1, participantId: undefined, attempt: 0 }),
    ];
    const state = resync(initialState(), { participants: [aParticipant()], requests }, noonMs);
    expect([...state.participants.keys()]).toEqual(["ana-llama3"]);
    expect([...state.running.values()]).toMatchObject([
      { kind: "streaming", startedMs: noonMs - 5_000, ttftMs: 1_000, outputTokens: 60 },
      { kind: "waiting" },
      { kind: "queued", place: 1 },
    ]);
    expect(state.log).toEqual([]);
  });

  test("tokens from before do not count as generated now", () => {
    const requests = [listed("r1", { state: "streaming", firstAt: noonMs, outputTokens: 60 })];
    let state = resync(initialState(), { participants: [], requests }, noonMs);
    state = reduce(state, progress("r1", 70), noonMs);
    expect(series(state, noonMs).at(-1)?.tokensPerSecond).toBe(10);
    state = reduce(state, complete("r1", { outputTokens: 75 }), noonMs);
    expect(series(state, noonMs).at(-1)?.tokensPerSecond).toBe(15);
  });

  test("the rate of a stream that began before is that of what is watched, whatever the hub's clock", () => {
    for (const firstAt of [noonMs - 60_000, noonMs + 60_000]) {
      const requests = [listed("r1", { state: "streaming", firstAt, outputTokens: 60 })];
      let state = resync(initialState(), { participants: [], requests }, noonMs);
      expect(roomFigures(state, noonMs).tokensPerSecond).toBe(0);
      state = reduce(state, progress("r1", 80), noonMs + 500);
      expect(state.running.get("r1")).toMatchObject({ tokensPerSecond: 40 });
      const again = resync(state, { participants: [], requests }, noonMs + 600);
      expect(again.running.get("r1")).toMatchObject({ outputTokens: 80, tokensPerSecond: 40 });
    }
  });

  test("a hub whose clock is ahead does not make requests start in the future", () => {
    const requests = [
      listed("r1", { state: "streaming", startedAt: noonMs + 9_000, firstAt: noonMs + 9_500 }),
    ];
    const state = resync(initialState(), { participants: [], requests }, noonMs);
    expect(state.running.get("r1")).toMatchObject({
      startedMs: noonMs,
      ratedFromMs: noonMs,
      ttftMs: 0,
    });
  });
});

describe("after a reconnect", () => {
  const before = resync(
    after([
      joined(),
      joined({ id: "bea-qwen3", model: "qwen3" }),
      sent("r1"),
      first("r1"),
      sent("r2"),
    ]),
    {
      participants: [aParticipant(), aParticipant({ id: "bea-qwen3" })],
      requests: [listed("r1"), listed("r2")],
    },
    noonMs,
  );

  test("what is not listed has ended or left, and the log says so", () => {
    const lists = {
      participants: [aParticipant(), aParticipant({ id: "cat" })],
      requests: [listed("r2")],
    };
    const state = resync(before, lists, noonMs);
    expect([...state.running.keys()]).toEqual(["r2"]);
    expect(texts(state).slice(before.log.length)).toEqual([
      "bea-qwen3 left",
      "cat joined with llama3",
      "1 request ended while disconnected",
    ]);
  });

  test("what is known of a request is kept", () => {
    const streaming = after([first("r1", 300), progress("r1", 20)], {
      state: before,
      stepMs: 1_000,
    });
    const requests = [
      listed("r1", { state: "streaming", startedAt: 0, outputTokens: 5 }),
      listed("r2"),
    ];
    const state = resync(streaming, { participants: [aParticipant()], requests }, noonMs + 5_000);
    expect(state.running.get("r1")).toEqual(streaming.running.get("r1"));
  });

  test("a request that ended after the list was made stays ended", () => {
    const state = resync(
      reduce(before, complete("r1"), noonMs),
      { participants: [aParticipant()], requests: [listed("r1"), listed("r2")] },
      noonMs,
    );
    expect([...state.running.keys()]).toEqual(["r2"]);
  });

  test("a hub that does not list requests leaves none running", () => {
    const state = resync(before, { participants: [aParticipant()], requests: undefined }, noonMs);
    expect(state.running.size).toBe(0);
  });

  test("the same lists again change nothing", () => {
    const lists = {
      participants: [aParticipant({ id: "cat" })],
      requests: [listed("r2"), listed("r3", { state: "streaming" })],
    };
    const once = resync(after([queued("r7", 1)], { state: before }), lists, noonMs);
    expect(resync(once, lists, noonMs + 1_000)).toEqual(once);
  });
});
