import { describe, expect, test } from "vitest";
import { Pace, type PaceSnapshot } from "./pace.ts";

/** A prompt of which nothing is warm. */
const cold = (bytes: number) => ({ promptBytes: bytes, coldBytes: bytes });

test("is known from the first request on", () => {
  const pace = new Pace();
  expect(pace.expectedFirstMs("stream", 1_000, 0)).toBeUndefined();
  pace.noteFirst("stream", cold(1_000), 100, 0);
  expect(pace.expectedFirstMs("stream", 2_000, 0)).toBeCloseTo(200, 6);
});

test("counts a prompt that was expected to be warm as cold when it took as long as a cold one", () => {
  const pace = new Pace();
  for (const bytes of [1_000, 10_000]) pace.noteFirst("stream", cold(bytes), bytes / 10, 0);
  pace.noteFirst("stream", { promptBytes: 8_000, coldBytes: 500 }, 790, 0);
  expect(pace.expectedFirstMs("stream", 500, 0)).toBeCloseTo(50, -1);
  pace.noteFirst("stream", { promptBytes: 8_000, coldBytes: 500 }, 60, 0);
  expect(pace.expectedFirstMs("stream", 10_000, 0)).toBeCloseTo(1_000, -2);
});

test("is known for other lengths from one request on where the server says how long the prompt took", () => {
  const pace = new Pace();
  pace.noteFirst("stream", cold(10_000), 1_200, 0, 1_000);
  expect(pace.expectedFirstMs("stream", 20_000, 0)).toBeCloseTo(2_200, 6);
  expect(pace.expectedFirstMs("stream", 1_000, 0)).toBeCloseTo(300, 6);
});

test("is kept apart for streams and whole responses", () => {
  const pace = new Pace();
  for (let count = 0; count < 2; count++) pace.noteFirst("whole", cold(1_000), 5_000, 0);
  expect(pace.expectedFirstMs("stream", 1_000, 0)).toBeUndefined();
  expect(pace.expectedFirstMs("whole", 1_000, 0)).toBeCloseTo(5_000, 6);
});

test("is measured again a minute after a first request, which may have loaded the model", () => {
  const pace = new Pace();
  pace.noteFirst("stream", cold(1_000), 9_000, 0);
  expect(pace.expectedFirstMs("stream", 1_000, 60_000)).toBeDefined();
  expect(pace.expectedFirstMs("stream", 1_000, 60_001)).toBeUndefined();
});

test("is measured again after ten minutes without a request", () => {
  const pace = new Pace();
  for (let count = 0; count < 2; count++) pace.noteFirst("stream", cold(1_000), 100, 0);
  expect(pace.expectedFirstMs("stream", 1_000, 600_000)).toBeDefined();
  expect(pace.expectedFirstMs("stream", 1_000, 600_001)).toBeUndefined();
});

describe("the wait for a slot", () => {
  const measured = () => {
    const pace = new Pace();
    pace.noteSlot(1_000);
    return pace;
  };

  test("is not known before a request ended", () => {
    expect(new Pace().expectedSlotMs([0], 0, 0)).toBeUndefined();
  });

  test.each([
    ["the one that began first", [500, 0, 300], 0, 800, 200],
    ["the next one, behind a request that waits too", [500, 0, 300], 1, 800, 500],
    ["a second round, when more wait than slots there are", [500, 0, 300], 3, 800, 1_200],
    ["a fifth of the mean, when it ran longer than that", [0], 0, 5_000, 200],
    ["nothing, when nothing runs", [], 0, 0, 0],
  ])("is until %s", (_what, startedMs, ahead, nowMs, expected) => {
    expect(measured().expectedSlotMs(startedMs, ahead, nowMs)).toBe(expected);
  });
});

test("loading is what a request took beyond its usual time", () => {
  const pace = new Pace();
  expect(pace.loadMs).toBeUndefined();
  for (let count = 0; count < 2; count++) pace.noteFirst("stream", cold(1_000), 100, 0);
  pace.noteLoad(1_000, 8_100);
  expect(pace.loadMs).toBeCloseTo(8_000, 6);
});

test("a pace restored at another hub expects the same, on that hub's clock", () => {
  const pace = new Pace();
  for (const [bytes, tookMs] of [
    [1_000, 100],
    [20_000, 900],
  ] as const) {
    pace.noteFirst("stream", { promptBytes: bytes, coldBytes: bytes }, tookMs, 5_000);
  }
  pace.noteSlot(700);
  pace.noteLoad(1_000, 4_000);
  pace.noteFailure(6_000);
  const copy = new Pace();
  copy.restore(JSON.parse(JSON.stringify(pace.snapshot(7_000))) as PaceSnapshot, 107_000);
  const expected = pace.expectedFirstMs("stream", 10_000, 7_000);
  expect(copy.expectedFirstMs("stream", 10_000, 107_000)).toBe(expected);
  expect(expected).toBeGreaterThan(100);
  const laterMs = 7_000 + 10 * 60_000;
  expect(copy.expectedFirstMs("stream", 10_000, laterMs + 100_000)).toBeUndefined();
  expect(copy.expectedSlotMs([107_000], 0, 107_000)).toBe(pace.expectedSlotMs([7_000], 0, 7_000));
  expect([copy.loadMs, copy.isDoubtful(107_000)]).toEqual([pace.loadMs, true]);
  expect(copy.isDoubtful(112_000)).toBe(false);
  expect(new Pace().snapshot(1)).toEqual({ ...new Pace().snapshot(9) });
});

describe("a prompt far longer than all that were measured", () => {
  function measuredWithShortOnes() {
    const pace = new Pace();
    for (let count = 0; count < 3; count++) {
      pace.noteAnswer("stream", 0);
      pace.noteFirst("stream", cold(30), 150, 0);
    }
    return pace;
  }

  test("is not estimated, and is tried once in ten minutes", () => {
    const pace = measuredWithShortOnes();
    expect(pace.expectedFirstMs("stream", 60, 0)).toBeCloseTo(150, 6);
    expect(pace.expectedFirstMs("stream", 6_000, 0)).toBeUndefined();
    expect(pace.promptBytesPerSecond("stream")).toBeUndefined();
    expect(pace.isUntried("stream", 6_000, 0)).toBe(true);
    pace.noteSent("stream", 6_000, 0);
    expect(pace.isUntried("stream", 6_000, 0)).toBe(false);
    pace.noteAnswer("stream", 500_000);
    expect(pace.isUntried("stream", 6_000, 600_001)).toBe(true);
  });

  test("is one of four times the longest sample", () => {
    const pace = measuredWithShortOnes();
    pace.noteFirst("stream", cold(2_000), 300, 0);
    expect(pace.isUntried("stream", 7_999, 0)).toBe(false);
    expect(pace.isUntried("stream", 8_000, 0)).toBe(true);
  });
});
