import { expect, test } from "vitest";
import { LossWatch } from "./keep-alive.ts";

/** Given up at 10 s for its silence, and resumed after that time. */
function intervalAfter(watch: LossWatch, resumedAfterMs: number): number {
  watch.tick(10_000, true);
  watch.tick(10_000 + resumedAfterMs, false);
  watch.resumed();
  return watch.pingIntervalMs;
}

test("each false alarm doubles the interval up to the usual one, and a real loss ends that", () => {
  const watch = new LossWatch(10_000);
  const intervals = [0, 1_000, 0, 0, 0, 2_000, 0].map((ms) => intervalAfter(watch, ms));
  expect(intervals).toEqual([2_000, 4_000, 8_000, 10_000, 10_000, 1_000, 2_000]);
});

test("a connection that was not given up for its silence changes nothing", () => {
  const watch = new LossWatch(10_000);
  watch.tick(10_000, false);
  watch.resumed();
  expect(watch.pingIntervalMs).toBe(1_000);
});

test("a usual interval that is shorter stays", () => {
  expect(new LossWatch(100).pingIntervalMs).toBe(100);
});
