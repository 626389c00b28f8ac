import type { LoadResult } from "../load/load.ts";
import { median } from "./spread.ts";

/** @throws Error when an answer was missing, or not what it should be */
export function clean(name: string, result: LoadResult): LoadResult {
  if (result.problemCount > 0) {
    throw new Error(`${name}: ${result.problemCount} bad answers: ${result.problems.join("; ")}`);
  }
  if (result.answers + result.tokens === 0) {
    throw new Error(`${name}: not one answer in ${result.seconds.toFixed(1)} s`);
  }
  return result;
}

/** CPU time of a process per answer or token, in µs. */
export function costUs(
  result: LoadResult,
  per: "answers" | "tokens",
  process: string = "target",
): number {
  return ((result.cpuMs[process] ?? Number.NaN) * 1_000) / result[per];
}

/** The median over the rounds of two figures of the same round, one divided by the other. */
export function ratioOf(one: readonly number[], other: readonly number[]): number {
  return median(one.map((value, round) => value / (other[round] ?? Number.NaN)));
}

/** The median over the rounds of what two of them cost in the same round, one divided by the other. */
export function costRatio(
  one: readonly LoadResult[],
  other: readonly LoadResult[],
  per: "answers" | "tokens",
): number {
  const costs = (results: readonly LoadResult[]) => results.map((result) => costUs(result, per));
  return ratioOf(costs(one), costs(other));
}

/** The median over the rounds of how much longer something took than elsewhere in the same round. */
export function addedMs(
  one: readonly LoadResult[],
  other: readonly LoadResult[],
  read: (result: LoadResult) => number,
): number {
  return median(
    one.map((result, round) => {
      const against = other[round];
      return against === undefined ? Number.NaN : read(result) - read(against);
    }),
  );
}

/** For the reader: what everybody cost, in absolute numbers of this machine. */
export function costsSeen(
  rounds: Partial<Record<string, LoadResult[]>>,
  per: "answers" | "tokens",
): string[] {
  return Object.entries(rounds).map(([name, results = []]) => {
    const cost = median(results.map((result) => costUs(result, per)));
    const rate = median(results.map((result) => result[per] / result.seconds));
    const busy = median(results.map(({ cpuMs, seconds }) => (cpuMs["load"] ?? 0) / seconds / 10));
    const beside = median(results.map((result) => costUs(result, per, "participant")));
    const participant = Number.isNaN(beside) ? "" : ` (${beside.toFixed(1)} µs of the participant)`;
    return `${name}: ${cost.toFixed(1)} µs of CPU each${participant}, ${Math.round(rate)}/s; the generator used ${busy.toFixed(0)} % of a core`;
  });
}
