import { expect, test } from "vitest";
import { Lane } from "./lane.ts";

const makeLane = (fixedWindow?: number) => new Lane({ fixedWindow, random: () => 0 });

/** Requests 0, 1, 2 … @returns those that may be sent now */
function takeAll(lane: Lane, nowMs: number, fresh: () => number | undefined): number[] {
  const taken: number[] = [];
  for (;;) {
    const number = lane.take(nowMs, fresh);
    if (number === undefined) return taken;
    taken.push(number);
  }
}

function counting(end = Number.POSITIVE_INFINITY) {
  let next = 0;
  return () => (next < end ? next++ : undefined);
}

/**
 * A room with so many slots, in which each request takes 1 s.
 *
 * @returns the lane's window after so many results
 */
function windowAfter(lane: Lane, slots: number, results: number): number {
  const fresh = counting();
  const queue: { number: number; sentMs: number }[] = [];
  const running: { number: number; sentMs: number; startedMs: number }[] = [];
  let nowMs = 0;
  for (let finished = 0; finished < results; finished++) {
    for (const number of takeAll(lane, nowMs, fresh)) queue.push({ number, sentMs: nowMs });
    while (running.length < slots && queue.length > 0) {
      const [next] = queue.splice(0, 1);
      if (next !== undefined) running.push({ ...next, startedMs: nowMs });
    }
    const first = running.toSorted((one, other) => one.startedMs - other.startedMs)[0];
    if (first === undefined) throw new Error("nothing runs");
    running.splice(running.indexOf(first), 1);
    nowMs = Math.max(nowMs, first.startedMs + 1_000);
    lane.finish(first.number, first.startedMs - first.sentMs, first.sentMs, nowMs);
  }
  return lane.window;
}

test.each([1, 2, 4, 16, 100])(
  "a lane finds the %i slots of a room, and keeps few requests waiting there",
  (slots) => {
    const window = windowAfter(makeLane(), slots, slots * 20);
    expect(window).toBeGreaterThan(slots);
    expect(window).toBeLessThanOrEqual(slots + 2 + slots / 4);
  },
);

test("a lane that knows its slots has one request more at the room, and follows their number", () => {
  const lane = makeLane();
  lane.setSlots(4, 0);
  expect(takeAll(lane, 0, counting())).toHaveLength(5);
  lane.setSlots(2, 0);
  expect(lane.window).toBe(3);
  lane.setSlots(undefined, 0);
  expect(lane.window).toBe(3);
});

test("a fixed window stays, whatever waits and whatever slots there are", () => {
  const lane = makeLane(8);
  lane.setSlots(1, 0);
  expect(windowAfter(lane, 1, 50)).toBe(8);
  lane.refuse(0, 0);
  expect(lane.window).toBe(8);
});

test("after a refusal nothing is sent until its time is over, and the refused request is the first", () => {
  const lane = makeLane();
  const fresh = counting();
  expect(takeAll(lane, 0, fresh)).toEqual([0, 1]);
  lane.refuse(1, 100, 5_000);
  lane.refuse(0, 101, 9_000);
  expect(lane.take(5_099, fresh)).toBeUndefined();
  expect(lane.wakeMs(5_099)).toBe(5_100);
  expect(takeAll(lane, 5_100, fresh)).toEqual([1]);
});

test("refusals without a time are tried again after half a second, then twice as long, up to a minute", () => {
  const lane = makeLane(1);
  const fresh = counting();
  const waits: number[] = [];
  let nowMs = 0;
  for (let count = 0; count < 9; count++) {
    const number = lane.take(nowMs, fresh);
    expect(number).toBe(0);
    lane.refuse(0, nowMs);
    const wakeMs = lane.wakeMs(nowMs) ?? 0;
    waits.push(wakeMs - nowMs);
    nowMs = wakeMs;
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  lane.take(nowMs, fresh);
  lane.finish(0, 0, nowMs, nowMs);
  lane.take(nowMs, fresh);
  lane.refuse(1, nowMs);
  expect(lane.wakeMs(nowMs)).toBe(nowMs + 500);
});

test("more slots end a pause, and fewer do not", () => {
  const lane = makeLane();
  lane.setSlots(2, 0);
  const fresh = counting();
  lane.take(0, fresh);
  lane.refuse(0, 0, 60_000);
  lane.setSlots(1, 0);
  expect(lane.take(1, fresh)).toBeUndefined();
  lane.setSlots(2, 0);
  expect(lane.take(1, fresh)).toBe(0);
});

test("a request that is lost is sent again later, four times as late each time, and not after its last attempt", () => {
  const lane = makeLane(2);
  const fresh = counting(1);
  lane.take(0, fresh);
  expect(lane.lose(0, 0, 3)).toBe(true);
  expect(lane.take(1_999, fresh)).toBeUndefined();
  expect(lane.wakeMs(1_999)).toBe(2_000);
  expect(lane.take(2_000, fresh)).toBe(0);
  expect(lane.lose(0, 2_000, 3)).toBe(true);
  expect(lane.take(9_999, fresh)).toBeUndefined();
  expect(lane.take(10_000, fresh)).toBe(0);
  expect(lane.lose(0, 10_000, 3)).toBe(false);
  expect(lane.take(1_000_000, fresh)).toBeUndefined();
  expect(lane.running).toBe(0);
});

test("others are sent while lost requests wait, but not without end", () => {
  const lane = makeLane(1);
  const fresh = counting();
  let sent = 0;
  for (; ; sent++) {
    const number = lane.take(0, fresh);
    if (number === undefined) break;
    lane.lose(number, 0, 5);
  }
  expect(sent).toBe(256);
});
