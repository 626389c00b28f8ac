import { interleave } from "./interleave.ts";
import { measureOnce } from "./measurement.ts";

/** JSON requests of 1 KB, responses of 1 KB, 128 at once, for rows 1, 2 and 14. */
export const jsonLoad = measureOnce("json load", { full: 90, quick: 6 }, (world) =>
  interleave(
    world,
    ["direct", "nginx", "haproxy", "tunnel", "hundred tunnels", "direct path", "gateway"],
    world.either(8, 1),
    {
      shape: { bodyBytes: 1_024 },
      connections: 128,
      rampMs: 60,
      warmupMs: world.either(240, 200),
      windowMs: world.either(800, 500),
    },
  ),
);
