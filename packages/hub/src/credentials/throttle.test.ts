import * as fc from "fast-check";
import { expect, test } from "vitest";
import { attemptKey, createPasswordAttempts } from "./throttle.ts";

const limits = { burst: 5, intervalMs: 2_000 };
const key = attemptKey("ABCDEF", "127.0.0.1");

function failTimes(attempts: ReturnType<typeof createPasswordAttempts>, count: number, nowMs = 0) {
  for (let index = 0; index < count; index++) attempts.recordFailure(key, nowMs);
}

test("five wrong passwords at once are allowed, a sixth is not", () => {
  const attempts = createPasswordAttempts(limits);
  failTimes(attempts, 4);
  expect(attempts.isAllowed(key, 0)).toBe(true);
  expect(attempts.retryAfterMs(key, 0)).toBe(0);
  failTimes(attempts, 1);
  expect(attempts.isAllowed(key, 0)).toBe(false);
});

test("after the burst one more is allowed every two seconds", () => {
  const attempts = createPasswordAttempts(limits);
  failTimes(attempts, 5);
  expect(attempts.retryAfterMs(key, 500)).toBe(1_500);
  expect(attempts.isAllowed(key, 1_999)).toBe(false);
  expect(attempts.isAllowed(key, 2_000)).toBe(true);
  failTimes(attempts, 1, 2_000);
  expect(attempts.isAllowed(key, 3_999)).toBe(false);
  expect(attempts.isAllowed(key, 4_000)).toBe(true);
});

test("ten quiet seconds give the whole burst back, and never more", () => {
  const attempts = createPasswordAttempts(limits);
  failTimes(attempts, 5);
  failTimes(attempts, 4, 60_000);
  expect(attempts.isAllowed(key, 60_000)).toBe(true);
  failTimes(attempts, 1, 60_000);
  expect(attempts.isAllowed(key, 60_000)).toBe(false);
});

test("what still counts is a whole number that one failure is taken from each two seconds", () => {
  const attempts = createPasswordAttempts(limits);
  expect(attempts.spent(key, 0)).toBe(0);
  failTimes(attempts, 3);
  expect([0, 1, 2_000, 4_001, 6_000].map((nowMs) => attempts.spent(key, nowMs))).toEqual([
    ...[3, 3, 2, 1, 0],
  ]);
  const unlimited = createPasswordAttempts({ burst: 5, intervalMs: 0 });
  unlimited.recordFailure(key, 0);
  expect(unlimited.spent(key, 0)).toBe(0);
});

test("failures beyond the limit do not lock any caller out for longer", () => {
  const attempts = createPasswordAttempts(limits);
  failTimes(attempts, 500);
  expect(attempts.isAllowed(key, 2_000)).toBe(true);
});

test("rooms and addresses are counted apart; callers without an address share one count per room", () => {
  const attempts = createPasswordAttempts(limits);
  failTimes(attempts, 5);
  expect(attempts.isAllowed(attemptKey("ABCDEF", "127.0.0.2"), 0)).toBe(true);
  expect(attempts.isAllowed(attemptKey("ABCDEG", "127.0.0.1"), 0)).toBe(true);
  expect(attemptKey("ABCDEF", undefined)).toBe(attemptKey("ABCDEF", undefined));
});

test("memory is bounded: the longest quiet are forgotten first", () => {
  const attempts = createPasswordAttempts({ ...limits, maxCallers: 3 });
  for (const caller of ["a", "b", "c"]) {
    for (let index = 0; index < 5; index++) attempts.recordFailure(caller, 0);
  }
  attempts.recordFailure("d", 0);
  expect(attempts.isAllowed("a", 0)).toBe(true);
  expect(attempts.isAllowed("b", 0)).toBe(false);
  expect(attempts.isAllowed("c", 0)).toBe(false);
});

test("a known caller takes no other caller's place", () => {
  const attempts = createPasswordAttempts({ ...limits, maxCallers: 2 });
  for (let index = 0; index < 5; index++) attempts.recordFailure("a", 0);
  for (let index = 0; index < 50; index++) attempts.recordFailure("b", 0);
  expect(attempts.isAllowed("a", 0)).toBe(false);
});

test("over any time, no more failures are let through than the burst and the refill", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 200 }), (pauses) => {
      const attempts = createPasswordAttempts(limits);
      let nowMs = 0;
      let failures = 0;
      for (const pauseMs of pauses) {
        nowMs += pauseMs;
        if (!attempts.isAllowed(key, nowMs)) {
          expect(attempts.isAllowed(key, nowMs + attempts.retryAfterMs(key, nowMs))).toBe(true);
          continue;
        }
        attempts.recordFailure(key, nowMs);
        failures++;
      }
      expect(failures).toBeLessThanOrEqual(limits.burst + Math.floor(nowMs / limits.intervalMs));
    }),
  );
});
