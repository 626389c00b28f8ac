import { interleave } from "../interleave.ts";
import type { BenchWorld } from "../world.ts";

/** 200 streams at once with 50 tokens a second each, 100 tokens long: what rows 3, 5 and 6 look at. */
export function pacedStreams(world: BenchWorld) {
  return world.once("paced streams", () =>
    interleave(
      world,
      ["direct", "nginx", "tunnel", "haproxy", "hundred tunnels"],
      world.either(3, 1),
      {
        ask: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } },
        connections: 200,
        rampMs: world.either(700, 400),
        warmupMs: world.either(200, 100),
        windowMs: world.either(2_700, 900),
      },
    ),
  );
}
