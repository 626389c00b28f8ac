import { systemWorld } from "@roomhub/protocol";
import type { ProbeResult } from "@roomhub/provider";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProviderWatch } from "./served-model.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server whose next look is due when the test says so. */
function startWatch() {
  const seen = { dueMs: 0, isSpared: false, probes: [] as number[], answerMs: 0 };
  const watch = new ProviderWatch(
    {
      lookInMs: () => Math.max(0, seen.dueMs - performance.now()),
      startLook() {
        if (performance.now() < seen.dueMs) return false;
        if (seen.isSpared) seen.dueMs = performance.now() + 30_000;
        return !seen.isSpared;
      },
      async probe(timeoutMs): Promise<ProbeResult> {
        seen.probes.push(performance.now());
        await new Promise((resolve) => setTimeout(resolve, seen.answerMs));
        seen.dueMs = performance.now() + 30_000;
        return { answered: timeoutMs === 10_000 };
      },
    },
    10_000,
    systemWorld,
  );
  const startedMs = performance.now();
  watch.start();
  return { watch, seen, probes: () => seen.probes.map((atMs) => Math.round(atMs - startedMs)) };
}

test("the next probe runs when due, counted from the previous response", async () => {
  const { watch, seen, probes } = startWatch();
  await vi.advanceTimersByTimeAsync(1);
  seen.answerMs = 500;
  await vi.advanceTimersByTimeAsync(70_000);
  expect(probes()).toEqual([0, 30_000, 60_500]);
  watch.stop();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(probes()).toHaveLength(3);
});

test("a probe can be rescheduled earlier, but not while another is pending", async () => {
  const { watch, seen, probes } = startWatch();
  await vi.advanceTimersByTimeAsync(1_000);
  seen.dueMs = performance.now();
  seen.answerMs = 5_000;
  watch.reschedule();
  await vi.advanceTimersByTimeAsync(1_000);
  watch.reschedule();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(probes()).toEqual([0, 1_000]);
  watch.stop();
});

test("a skipped probe is made when the next is due", async () => {
  const { watch, seen, probes } = startWatch();
  await vi.advanceTimersByTimeAsync(1);
  seen.isSpared = true;
  await vi.advanceTimersByTimeAsync(30_000);
  seen.isSpared = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(probes()).toEqual([0, 60_000]);
  watch.stop();
});

test("no probe runs after stop", async () => {
  const { watch, seen, probes } = startWatch();
  watch.stop();
  seen.dueMs = 0;
  watch.reschedule();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(probes()).toEqual([0]);
});
