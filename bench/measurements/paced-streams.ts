import { interleave } from "./interleave.ts";
import { measureOnce } from "./measurement.ts";

/** 200 streams at once with 50 tokens a second each, 100 tokens long, for rows 3, 5 and 6. */
export const pacedStreams = measureOnce("paced streams", { full: 92, quick: 9 }, (world) =>
  interleave(
    world,
    ["direct", "nginx", "tunnel", "haproxy", "hundred tunnels"],
    world.either(8, 1),
    {
      shape: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } },
      connections: 200,
      rampMs: world.either(500, 400),
      warmupMs: world.either(200, 100),
      windowMs: world.either(1_400, 900),
    },
  ),
);
