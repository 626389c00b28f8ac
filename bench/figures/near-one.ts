import type { BenchFigure } from "../row.ts";
import { median, medianInterval } from "./spread.ts";

/**
 * Whether one side costs what the other does: the median of the quotients of the same round, and its 95 % interval, which
 * must reach down to 1 and end at 1.08 at most. A quick run has too few rounds for an interval.
 */
export function nearOne(
  what: string,
  one: readonly number[],
  other: readonly number[],
): BenchFigure[] {
  const ratios = one.map((value, round) => value / (other[round] ?? Number.NaN));
  const [from, to] = medianInterval(ratios);
  const interval: BenchFigure[] = [
    { what: "its 95 % interval, from", value: from, goal: 1, unit: "×" },
    { what: "to", value: to, goal: 1.08, unit: "×" },
  ];
  return [
    { what: `${what}, median`, value: median(ratios), goal: undefined, unit: "×" },
    ...(Number.isFinite(from) ? interval : []),
  ];
}
