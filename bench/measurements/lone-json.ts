import { interleave } from "./interleave.ts";
import { measureOnce } from "./measurement.ts";
import { targetOf } from "../processes/targets.ts";

const lone = { shape: { bodyBytes: 1_024 }, connections: 1, rampMs: 0, warmupMs: 150 };

/** JSON requests of 1 KB, responses of 1 KB, one at a time, for rows 7 and 20. */
export const loneJson = measureOnce("lone json", { full: 32, quick: 5 }, async (world) => {
  // Code that was compiled for many at once is compiled again when one request arrives alone.
  const target = await targetOf(world, "tunnel");
  if (target !== undefined) {
    await world.load({ ...lone, target, windowMs: world.either(4_000, 300) });
  }
  // Short and many: other programs disturb a lone request more than a busy hub.
  return interleave(world, ["direct", "nginx", "tunnel"], world.either(12, 2), {
    ...lone,
    windowMs: world.either(500, 400),
  });
});
