import { percentile } from "../../tests/faults/figure.ts";

/** A summary of many values. NaN where there were none. */
export interface Spread {
  count: number;
  p50: number;
  p99: number;
  max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? Number.NaN };
}

/** The median of the runs. */
export function median(values: readonly number[]): number {
  const middle = percentile(values, 0.5);
  if (values.length % 2 === 1) return middle;
  return (middle + percentile(values, 0.5 + 1 / Math.max(1, values.length))) / 2;
}

/**
 * Between which the median of all possible values is with a probability of at least 95 %, whatever their distribution:
 * by order statistics, from how often a fair coin shows its face. Infinite for fewer than six values.
 */
export function medianInterval(values: readonly number[]): [from: number, to: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const count = sorted.length;
  let below = 0.5 ** count;
  let chance = below;
  let left = 0;
  // So many values can be left out at each end.
  while (below <= 0.025) {
    left++;
    chance *= (count - left + 1) / left;
    below += chance;
  }
  if (left === 0) return [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return [sorted[left - 1] ?? Number.NaN, sorted[count - left] ?? Number.NaN];
}
