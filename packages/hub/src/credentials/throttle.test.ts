import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Throttle } from "./throttle.ts";

const limits = { burst: 5, intervalMs: 2_000 };
const key = "ABCDEF 127.0.0.1";

function failTimes(throttle: Throttle, count: number, nowMs = 0) {
  for (let index = 0; index < count; index++) throttle.record(key, nowMs);
}

test("five wrong passwords at once are allowed, a sixth is not", () => {
  const throttle = new Throttle(limits);
  failTimes(throttle, 4);
  expect(throttle.isAllowed(key, 0)).toBe(true);
  expect(throttle.retryAfterMs(key, 0)).toBe(0);
  failTimes(throttle, 1);
  expect(throttle.isAllowed(key, 0)).toBe(false);
});

test("after the burst one more is allowed every two seconds", () => {
  const throttle = new Throttle(limits);
  failTimes(throttle, 5);
  expect(throttle.retryAfterMs(key, 500)).toBe(1_500);
  expect(throttle.isAllowed(key, 1_999)).toBe(false);
  expect(throttle.isAllowed(key, 2_000)).toBe(true);
  failTimes(throttle, 1, 2_000);
  expect(throttle.isAllowed(key, 3_999)).toBe(false);
  expect(throttle.isAllowed(key, 4_000)).toBe(true);
});

test("ten quiet seconds give the whole burst back, and never more", () => {
  const throttle = new Throttle(limits);
  failTimes(throttle, 5);
  failTimes(throttle, 4, 60_000);
  expect(throttle.isAllowed(key, 60_000)).toBe(true);
  failTimes(throttle, 1, 60_000);
  expect(throttle.isAllowed(key, 60_000)).toBe(false);
});

test("what still counts is a whole number that one failure is taken from each two seconds", () => {
  const throttle = new Throttle(limits);
  expect(throttle.spent(key, 0)).toBe(0);
  failTimes(throttle, 3);
  expect([0, 1, 2_000, 4_001, 6_000].map((nowMs) => throttle.spent(key, nowMs))).toEqual([
    ...[3, 3, 2, 1, 0],
  ]);
  const unlimited = new Throttle({ burst: 5, intervalMs: 0 });
  unlimited.record(key, 0);
  expect(unlimited.spent(key, 0)).toBe(0);
});

test("failures beyond the limit do not lock any caller out for longer", () => {
  const throttle = new Throttle(limits);
  failTimes(throttle, 500);
  expect(throttle.isAllowed(key, 2_000)).toBe(true);
});

test("rooms and addresses are counted apart; callers without an address share one count per room", () => {
  const throttle = new Throttle(limits);
  failTimes(throttle, 5);
  expect(throttle.isAllowed("ABCDEF 127.0.0.2", 0)).toBe(true);
  expect(throttle.isAllowed("ABCDEG 127.0.0.1", 0)).toBe(true);
});

test("memory is bounded: the longest quiet are forgotten first", () => {
  const throttle = new Throttle({ ...limits, maxKeys: 3 });
  for (const caller of ["a", "b", "c"]) {
    for (let index = 0; index < 5; index++) throttle.record(caller, 0);
  }
  throttle.record("d", 0);
  expect(throttle.isAllowed("a", 0)).toBe(true);
  expect(throttle.isAllowed("b", 0)).toBe(false);
  expect(throttle.isAllowed("c", 0)).toBe(false);
});

test("a known caller takes no other caller's place", () => {
  const throttle = new Throttle({ ...limits, maxKeys: 2 });
  for (let index = 0; index < 5; index++) throttle.record("a", 0);
  for (let index = 0; index < 50; index++) throttle.record("b", 0);
  expect(throttle.isAllowed("a", 0)).toBe(false);
});

test("over any time, no more failures are let through than the burst and the refill", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 200 }), (pauses) => {
      const throttle = new Throttle(limits);
      let nowMs = 0;
      let failures = 0;
      for (const pauseMs of pauses) {
        nowMs += pauseMs;
        if (!throttle.isAllowed(key, nowMs)) {
          expect(throttle.isAllowed(key, nowMs + throttle.retryAfterMs(key, nowMs))).toBe(true);
          continue;
        }
        throttle.record(key, nowMs);
        failures++;
      }
      expect(failures).toBeLessThanOrEqual(limits.burst + Math.floor(nowMs / limits.intervalMs));
    }),
  );
});
