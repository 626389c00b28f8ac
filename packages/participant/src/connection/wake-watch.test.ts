import { expect, test } from "vitest";
import { WakeWatch } from "./hub-connection.ts";

/** A watch, and a check of it at a time on each clock. */
function twoClocks() {
  const clock = { nowMs: 0, wallMs: 0 };
  const time = { monotonicMs: () => clock.nowMs, wallMs: () => clock.wallMs };
  const watch = new WakeWatch(5_000, time);
  const check = (nowMs: number, wallMs: number): boolean => {
    Object.assign(clock, { nowMs, wallMs });
    return watch.check();
  };
  return { watch, check };
}

test("a gap on either clock is sleep; the first check and regular ticks are not", () => {
  const { check } = twoClocks();
  expect(check(0, 1_000_000)).toBe(false);
  expect(check(5_000, 1_005_000)).toBe(false);
  expect(check(6_000, 1_011_001)).toBe(true);
  expect(check(11_001, 1_012_000)).toBe(true);
  expect(check(12_000, 900_000)).toBe(false);
});

test("its clock counts sleep, whether the monotonic clock stands still or not", () => {
  const { watch, check } = twoClocks();
  check(0, 1_000_000);
  check(1_000, 1_001_000);
  expect(watch.nowMs).toBe(1_000);
  check(2_000, 1_061_000);
  expect(watch.nowMs).toBe(61_000);
  check(62_000, 1_121_000);
  expect(watch.nowMs).toBe(121_000);
  // Clocks that differ a little, or are set, are no sleep.
  check(63_000, 1_121_900);
  check(64_000, 5);
  expect(watch.nowMs).toBe(123_000);
});
