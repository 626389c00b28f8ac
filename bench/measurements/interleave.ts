import { clean } from "../figures/cost.ts";
import type { LoadResult } from "../load/load.ts";
import type { Load } from "./loads.ts";
import { targetOf, type TargetName } from "../processes/targets.ts";
import type { BenchWorld } from "../processes/world.ts";

/** The results of several targets, round by round. */
export type Rounds<Name extends string> = Partial<Record<Name, LoadResult[]>>;

/**
 * Loads several targets in turn, round after round, so that a disturbance of the machine affects all of them. Each round begins
 * with another one. Those that are not installed are left out.
 */
export async function interleave<Name extends TargetName>(
  world: BenchWorld,
  names: readonly Name[],
  rounds: number,
  settings: Load,
): Promise<Rounds<Name>> {
  const seen: Rounds<Name> = {};
  for (let round = 0; round < rounds; round++) {
    for (const name of rotated(names, round)) {
      const target = await targetOf(world, name);
      if (target === undefined) continue;
      const result = clean(name, await world.load({ ...settings, target }));
      seen[name] = [...(seen[name] ?? []), result];
    }
  }
  return seen;
}

export function rotated<T>(all: readonly T[], by: number): T[] {
  const at = by % Math.max(1, all.length);
  return [...all.slice(at), ...all.slice(0, at)];
}
