import { clean } from "./cost.ts";
import type { Target } from "./target.ts";
import type { BenchWorld } from "./world.ts";

/** Requests that count for nothing: a program that has just started is compiled while it runs. */
export async function warmUp(world: BenchWorld, target: Target): Promise<void> {
  const result = await world.load({
    ...{ target, ask: { bodyBytes: 1_024 }, connections: 64 },
    ...{ rampMs: 50, warmupMs: 0, windowMs: world.either(2_000, 400) },
  });
  clean(target.name, result);
}
