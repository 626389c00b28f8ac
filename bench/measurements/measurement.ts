import type { BenchWorld } from "../processes/world.ts";

/** Approximate duration in a full and in a quick run. */
export interface Seconds {
  full: number;
  quick: number;
}

/** What several rows are computed from: measured once, for the first of them. */
export interface Measurement<T> {
  readonly seconds: Seconds;
  of(world: BenchWorld): Promise<T>;
}

export function measureOnce<T>(
  name: string,
  seconds: Seconds,
  run: (world: BenchWorld) => Promise<T>,
): Measurement<T> {
  return { seconds, of: (world) => world.once(name, () => run(world)) };
}
