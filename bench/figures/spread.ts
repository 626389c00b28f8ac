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
