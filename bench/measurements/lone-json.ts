import { interleave } from "./interleave.ts";
import { oneAtATime } from "./loads.ts";
import { measureOnce } from "./measurement.ts";
import { targetOf } from "../processes/targets.ts";

/** For rows 7 and 20. */
export const loneJson = measureOnce("lone json", { full: 32, quick: 5 }, async (world) => {
  const load = oneAtATime(world);
  // Code that was compiled for many at once is compiled again when one request arrives alone.
  const target = await targetOf(world, "tunnel");
  if (target !== undefined) {
    await world.load({ ...load, target, windowMs: world.either(4_000, 300) });
  }
  return interleave(world, ["direct", "nginx", "tunnel"], world.either(12, 2), load);
});
