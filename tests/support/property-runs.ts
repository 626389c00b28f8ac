import { randomInt } from "node:crypto";

const byHand = process.env["ROOMHUB_PROPERTY_RUNS"];
const chosenSeed = process.env["ROOMHUB_PROPERTY_SEED"];
const fixedSeed = 20_260_101;

/**
 * What a property is run with: the same seed each time, so that what it once saw it sees again, and a new one, so that
 * more is seen over time. Each title names its seed; `ROOMHUB_PROPERTY_SEED` runs one again, alone.
 */
export const SEEDS: readonly number[] =
  chosenSeed === undefined ? [fixedSeed, randomInt(2 ** 31)] : [Number(chosenSeed)];

const quickMs = 60_000;

/** ms for the test that runs a property; none for a long look by hand */
export const propertyTimeoutMs = byHand === undefined ? quickMs : 0;

/**
 * `ROOMHUB_PROPERTY_RUNS` is for a long look by hand.
 *
 * @param quickRuns - how often in a run of all tests, both seeds together; each by hand, at least
 */
export function propertyRuns(seed: number, quickRuns: number) {
  const numRuns = Math.max(Math.ceil(quickRuns / SEEDS.length), Number(byHand ?? 0));
  // A failure is reported before the test times out, shrunk as far as possible.
  return byHand === undefined
    ? { seed, numRuns, interruptAfterTimeLimit: quickMs * 0.75 }
    : { seed, numRuns };
}

/**
 * Whether a run with this seed must have met what a test is about, or it would prove little. Few runs with a new seed may
 * miss it by chance alone.
 */
export function mustHaveMet(seed: number): boolean {
  return seed === fixedSeed || byHand !== undefined;
}
