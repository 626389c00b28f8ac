import { randomInt } from "node:crypto";

/**
 * What a property is run with: the same seed each time, so that nobody's change fails by chance alone, and a new one, so
 * that more is seen over time. Each title names its seed; `ROOMHUB_PROPERTY_SEED` runs one again.
 */
export const SEEDS: readonly number[] =
  process.env["ROOMHUB_PROPERTY_SEED"] === undefined
    ? [20_260_101, randomInt(2 ** 31)]
    : [Number(process.env["ROOMHUB_PROPERTY_SEED"])];

/** `ROOMHUB_PROPERTY_RUNS` for a long look by hand; then a run has no time limit. */
export function propertyRuns(quick: number): number {
  return Number(process.env["ROOMHUB_PROPERTY_RUNS"] ?? quick);
}

/** ms; for the test that runs a property */
export const propertyTimeoutMs = process.env["ROOMHUB_PROPERTY_RUNS"] === undefined ? 60_000 : 0;
