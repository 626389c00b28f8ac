import type { ParticipantResult } from "@roomhub/room-state";
import { initialState, reduce, type RoomEvent } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { benchRows, mostOf } from "./bench-rows.ts";

const ana: ParticipantResult = {
  ...{ id: "ana", nickname: "Ana", model: "qwen3", context: 32_768 },
  firstToken: [{ promptBytes: 1024, promptTokens: 300, ms: 100 }],
  promptTokensPerSecond: 2_000,
  generation: [
    { requests: 1, tokensPerSecond: 40 },
    { requests: 4, tokensPerSecond: 90 },
  ],
  canaries: { tools: "passed" },
  errors: [],
};

function resultOf(...participants: ParticipantResult[]) {
  const at = "2026-01-02T03:04:05.000Z";
  const version = 1 as const;
  return { version, at, hubUrl: "http://hub", room: "ABC234", hubRoundTripMs: 1, participants };
}

function ended(requestId: string, ttftMs: number, durationMs: number): RoomEvent {
  return {
    ...{ timestamp: "2026-01-02T03:04:05.000Z", roomCode: "ABC234", type: "llm.complete" },
    ...{ requestId, selector: "*", protocol: "chatCompletions", attempts: 1, queueMs: 0 },
    ...{ participantId: "ana", nickname: "Ana", model: "qwen3", httpStatus: 200 },
    client: { kind: "none" },
    metrics: { ttftMs, durationMs, outputTokens: 101 },
  } as unknown as RoomEvent;
}

test("a row has what was measured, beside the medians of the last requests", () => {
  const events = [ended("r1", 200, 2_200), ended("r2", 300, 2_300), ended("r3", 400, 401)];
  const state = events.reduce((known, event) => reduce(known, event, 0), initialState());
  const [row] = benchRows(resultOf(ana), state);
  expect(row).toMatchObject({
    firstToken: { short: 100, long: null, now: 300 },
    promptRate: 2_000,
    outputRate: { alone: 40, together: 90, now: 50 },
    atOnce: 4,
  });
});

test("a participant that left, or shares another model now, is shown so; one that was skipped is no row", () => {
  const skipped = { ...ana, id: "ben", skipped: "offline" };
  const rows = benchRows(resultOf(ana, skipped), initialState());
  expect(rows.map(({ model }) => model)).toEqual(["qwen3, not in the room now"]);
});

test("bars are shares of the largest", () => {
  expect(mostOf([1, null, 3])).toBe(3);
  expect(mostOf([])).toBe(0);
});
