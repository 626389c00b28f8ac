import { expect, test } from "vitest";
import { seededRandom } from "../room/random.ts";
import { quantile, simulateQueue } from "./queue.ts";

/** Pollaczek and Khinchine: of one kind of work with the same service time. */
function meanWaitMicros(perSecond: number, micros: number): number {
  const share = (perSecond * micros) / 1e6;
  return (share * micros) / (2 * (1 - share));
}

test.each([0.2, 0.5, 0.8])(
  "a queue that is busy %f of the time waits as long as theory says",
  (share) => {
    const micros = 100;
    const perSecond = (share * 1e6) / micros;
    const seen = simulateQueue([{ perSecond, micros }], seededRandom(1));
    expect(seen.share).toBeCloseTo(share, 1);
    const mean = seen.waits.reduce((sum, wait) => sum + wait, 0) / seen.waits.length;
    const expected = meanWaitMicros(perSecond, micros);
    expect(Math.abs(mean / expected - 1)).toBeLessThan(0.1);
  },
);

test("a queue adds up the work of its kinds", () => {
  const kinds = [
    { perSecond: 1_000, micros: 100 },
    { perSecond: 100, micros: 2_000 },
    { perSecond: 0, micros: 1e9 },
  ];
  expect(simulateQueue(kinds, seededRandom(1)).share).toBeCloseTo(0.3, 1);
});

test("a queue that gets more than it can do says so", () => {
  const seen = simulateQueue([{ perSecond: 20_000, micros: 100 }], seededRandom(1));
  expect(seen.share).toBeGreaterThan(1.9);
});

test("a queue without arrivals is idle", () => {
  expect(simulateQueue([], seededRandom(1))).toEqual({ share: 0, waits: [0] });
});

test("a quantile is the value below which that share lies", () => {
  expect([quantile([1, 2, 3, 4], 0.5), quantile([1, 2, 3, 4], 1), quantile([], 0.5)]).toEqual([
    3, 4, 0,
  ]);
});
