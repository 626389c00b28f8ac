import type { ProbeResult } from "@roomhub/provider";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProviderWatch } from "./provider-watch.ts";
import { defaultTiming } from "./timing.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function startWatch() {
  const seen = { log: [] as string[], probes: 0, answer: { answered: true } as ProbeResult };
  const watch = new ProviderWatch({
    probe: () => {
      seen.probes += 1;
      return Promise.resolve(seen.answer);
    },
    timing: defaultTiming,
    onUp: () => seen.log.push("up"),
    onDown: (reason) => seen.log.push(reason),
  });
  watch.start();
  return { watch, seen };
}

test("an idle provider is asked every 30 s, every 5 s while it is down, and each change is told once", async () => {
  const { watch, seen } = startWatch();
  await vi.advanceTimersByTimeAsync(29_999);
  expect(seen.probes).toBe(1);
  seen.answer = { answered: false, problem: "refused" };
  await vi.advanceTimersByTimeAsync(1);
  expect(seen).toMatchObject({ probes: 2, log: ["refused"] });
  expect(watch.downReason).toBe("refused");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(seen).toMatchObject({ probes: 4, log: ["refused"] });
  seen.answer = { answered: true, status: 401 };
  await vi.advanceTimersByTimeAsync(5_000);
  expect(seen.log).toEqual(["refused", "up"]);
  watch.stop();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(seen.probes).toBe(5);
});

test("a request in progress with bytes coming is sign enough", async () => {
  const { watch, seen } = startWatch();
  await vi.advanceTimersByTimeAsync(1);
  watch.requestStarted();
  watch.noteAnswer();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen.probes).toBe(1);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen.probes).toBe(2);
  watch.requestEnded();
  watch.stop();
});

test("a request that reaches nobody has the provider asked at once; an answer brings it back at once", async () => {
  const { watch, seen } = startWatch();
  await vi.advanceTimersByTimeAsync(1);
  seen.answer = { answered: false };
  watch.noteFailure();
  await vi.advanceTimersByTimeAsync(1);
  expect(seen.log).toEqual(["its model server does not answer"]);
  watch.noteFailure();
  await vi.advanceTimersByTimeAsync(1);
  expect(seen.probes).toBe(2);
  watch.noteAnswer();
  expect(seen.log.at(-1)).toBe("up");
  watch.stop();
});

test("a question that waits in vain while requests run proves nothing, neither down nor up", async () => {
  const { watch, seen } = startWatch();
  await vi.advanceTimersByTimeAsync(1);
  watch.requestStarted();
  seen.answer = { answered: false, isTimeout: true, problem: "no answer in time" };
  await vi.advanceTimersByTimeAsync(60_000);
  expect(seen).toMatchObject({ probes: 3, log: [] });
  seen.answer = { answered: false, problem: "refused" };
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen.log).toEqual(["refused"]);
  seen.answer = { answered: false, isTimeout: true };
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen.log).toEqual(["refused"]);
  watch.stop();
});

test("an idle provider that leaves the question unanswered is down", async () => {
  const { watch, seen } = startWatch();
  await vi.advanceTimersByTimeAsync(1);
  watch.requestStarted();
  watch.requestEnded();
  seen.answer = { answered: false, isTimeout: true, problem: "no answer in time" };
  await vi.advanceTimersByTimeAsync(30_000);
  expect(seen.log).toEqual(["no answer in time"]);
  watch.stop();
});
