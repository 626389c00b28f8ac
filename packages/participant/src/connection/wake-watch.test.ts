import { expect, test } from "vitest";
import { WakeWatch } from "./wake-watch.ts";

test("a gap on either clock is sleep; the first check and regular ticks are not", () => {
  let nowMs = 0;
  let wallMs = 1_000_000;
  const watch = new WakeWatch(
    5_000,
    () => nowMs,
    () => wallMs,
  );
  expect(watch.check()).toBe(false);
  [nowMs, wallMs] = [5_000, 1_005_000];
  expect(watch.check()).toBe(false);
  [nowMs, wallMs] = [6_000, 1_011_001];
  expect(watch.check()).toBe(true);
  [nowMs, wallMs] = [11_001, 1_012_000];
  expect(watch.check()).toBe(true);
  [nowMs, wallMs] = [12_000, 900_000];
  expect(watch.check()).toBe(false);
});
