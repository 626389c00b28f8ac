import type { LoadResult } from "../load/load.ts";
import { median } from "./spread.ts";

/** @throws Error when a response was missing, or not the expected one */
export function clean(name: string, result: LoadResult): LoadResult {
  if (result.problemCount > 0) {
    throw new Error(`${name}: ${result.problemCount} bad responses: ${result.problems.join("; ")}`);
  }
  if (result.responses + result.tokens === 0) {
    throw new Error(`${name}: no response in ${result.seconds.toFixed(1)} s`);
  }
  return result;
}

/** CPU time of a process per response or token, in µs. */
export function costUs(
  result: LoadResult,
  per: "responses" | "tokens",
  process: string = "target",
): number {
  return ((result.cpuMs[process] ?? Number.NaN) * 1_000) / result[per];
}

/** The median over the rounds of two figures of the same round, one divided by the other. */
export function ratioOf(one: readonly number[], other: readonly number[]): number {
  return median(one.map((value, round) => value / (other[round] ?? Number.NaN)));
}

/**
 * The median over the rounds of the costs of two targets in the same round, one divided by the other.
 *
 * @param process - of the first
 */
export function costRatio(
  one: readonly LoadResult[],
  other: readonly LoadResult[],
  per: "responses" | "tokens",
  process: string = "target",
): number {
  const costs = (results: readonly LoadResult[], of: string) =>
    results.map((result) => costUs(result, per, of));
  return ratioOf(costs(one, process), costs(other, "target"));
}

/** The median over the rounds of the time that one target added to another's in the same round. */
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

/** For the reader: the cost of every target, in absolute numbers of this machine. */
export function costsSeen(
  rounds: Partial<Record<string, LoadResult[]>>,
  per: "responses" | "tokens",
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
