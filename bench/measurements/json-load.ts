import { interleave } from "./interleave.ts";
import { jsonAtOnce } from "./loads.ts";
import { measureOnce } from "./measurement.ts";

/** For rows 1, 2 and 14. */
export const jsonLoad = measureOnce("json load", { full: 90, quick: 6 }, (world) =>
  interleave(
    world,
    ["direct", "nginx", "haproxy", "tunnel", "hundred tunnels", "direct path", "gateway"],
    world.either(8, 1),
    jsonAtOnce(world),
  ),
);
