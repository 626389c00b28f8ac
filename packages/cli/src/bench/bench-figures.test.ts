import type { BenchResult, ParticipantResult } from "@roomhub/room-state";
import { expect, test } from "vitest";
import { changesSince, generationRate, promptRate, type Sample } from "./bench-figures.ts";

function sample(over: Partial<Sample>): Sample {
  return {
    ...{ startedMs: 0, firstTokenMs: 100, endedMs: 1100, promptTokens: 300, outputTokens: 101 },
    ...over,
  };
}

test("a prompt's rate is what a longer prompt takes more, without what both wait for", () => {
  const long = sample({ promptTokens: 4_300, firstTokenMs: 2_100 });
  expect(promptRate([sample({}), long])).toBe(2_000);
  expect(promptRate([sample({})])).toBe(3_000);
  expect(promptRate([sample({ promptTokens: null })])).toBeNull();
  expect(promptRate([])).toBeNull();
});

test("a generation's rate counts from the first token of any to the end of the last", () => {
  expect(generationRate([sample({})])).toBe(100);
  const later = sample({ firstTokenMs: 600, endedMs: 2_100 });
  expect(generationRate([sample({}), later])).toBe(100);
  expect(generationRate([sample({ outputTokens: null })])).toBeNull();
  expect(generationRate([sample({ outputTokens: 1 })])).toBeNull();
});

const ana: ParticipantResult = {
  ...{ id: "ana", nickname: "Ana", model: "qwen3", context: 32_768 },
  firstToken: [{ promptBytes: 1024, promptTokens: 300, ms: 100 }],
  promptTokensPerSecond: 2_000,
  generation: [{ requests: 1, tokensPerSecond: 40 }],
  canaries: { tools: "passed", schema: "passed" },
  errors: [],
};

function resultOf(...participants: ParticipantResult[]): BenchResult {
  const at = "2026-01-02T03:04:05.000Z";
  return { version: 1, at, hubUrl: "http://hub", room: "ABC234", hubRoundTripMs: 1, participants };
}

test("a tenth more or less is no change", () => {
  const now = { ...ana, generation: [{ requests: 1, tokensPerSecond: 36.5 }] };
  expect(changesSince(resultOf(ana), resultOf(now))).toEqual([]);
});

test("what became slower, fails now or is missing is a change each", () => {
  const now: ParticipantResult = {
    ...ana,
    generation: [{ requests: 1, tokensPerSecond: 20 }],
    canaries: { tools: "passed", schema: "failed" },
  };
  expect(changesSince(resultOf(ana), resultOf(now, { ...ana, id: "ben" }))).toEqual([
    { id: "ana", what: "output tokens/s at 1", from: 40, to: 20 },
    { id: "ana", what: "schema", from: "passed", to: "failed" },
    { id: "ben", what: "measured", from: "no", to: "yes" },
  ]);
});

test("one that was skipped both times is no change", () => {
  const skipped = { ...ana, skipped: "offline" };
  expect(changesSince(resultOf(skipped), resultOf(skipped))).toEqual([]);
});
