import { randomInt } from "node:crypto";

const byHand = process.env["ROOMHUB_PROPERTY_RUNS"];

/**
 * What a property is run with: the same seed each time, so that nobody's change fails by chance alone; in a long look by
 * hand a new one too, so that more is seen over time. Each title names its seed; `ROOMHUB_PROPERTY_SEED` runs one again.
 */
export const SEEDS: readonly number[] = seeds(process.env["ROOMHUB_PROPERTY_SEED"]);

function seeds(chosen: string | undefined): number[] {
  if (chosen !== undefined) return [Number(chosen)];
  return byHand === undefined ? [20_260_101] : [20_260_101, randomInt(2 ** 31)];
}

const quickMs = 60_000;

/** ms for the test that runs a property; none for a long look by hand */
export const propertyTimeoutMs = byHand === undefined ? quickMs : 0;

/**
 * `ROOMHUB_PROPERTY_RUNS` is for a long look by hand.
 *
 * @param quickRuns - how often in a run of all tests, and at least: fewer would see too little
 */
export function propertyRuns(seed: number, quickRuns: number) {
  const numRuns = Math.max(quickRuns, Number(byHand ?? 0));
  // A failure is told before the test runs out of time, shrunk as far as it came.
  return byHand === undefined
    ? { seed, numRuns, interruptAfterTimeLimit: quickMs * 0.75 }
    : { seed, numRuns };
}
