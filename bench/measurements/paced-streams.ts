import { interleave } from "./interleave.ts";
import { streamsAtPace } from "./loads.ts";
import { measureOnce } from "./measurement.ts";

/** For rows 3, 5 and 6. */
export const pacedStreams = measureOnce("paced streams", { full: 92, quick: 9 }, (world) =>
  interleave(
    world,
    ["direct", "nginx", "tunnel", "haproxy", "hundred tunnels"],
    world.either(8, 1),
    streamsAtPace(world),
  ),
);
