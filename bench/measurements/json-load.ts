import { interleave } from "../interleave.ts";
import type { BenchWorld } from "../world.ts";

/** JSON requests of 1 KB, answers of 1 KB, 128 at once: what rows 1, 2 and 14 look at, measured once for all. */
export function jsonLoad(world: BenchWorld) {
  return world.once("json load", () =>
    interleave(
      world,
      ["direct", "nginx", "haproxy", "tunnel", "direct path", "gateway"],
      world.either(3, 1),
      {
        ask: { bodyBytes: 1_024 },
        connections: 128,
        rampMs: 100,
        warmupMs: world.either(600, 200),
        windowMs: world.either(1_800, 500),
      },
    ),
  );
}
