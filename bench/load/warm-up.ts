import { clean } from "../figures/cost.ts";
import type { RequestShape, Target } from "./target.ts";
import type { BenchWorld } from "../processes/world.ts";

/**
 * Requests that are not counted: a program that has just started is compiled while it runs, and its heap grows to what it
 * needs. Many at once, since that makes it grow.
 *
 * @param seconds - of JSON requests, in a full run: everything is compiled after eight
 */
export async function warmUp(world: BenchWorld, target: Target, seconds = 2): Promise<void> {
  await send(world, target, { bodyBytes: 1_024 }, 128, world.either(seconds * 1_000, 400));
  // The others parse what they relay, and one that does not support streams fails here.
  if (!target.isTransparent) return;
  const streams = { bodyBytes: 1_024, plain: { pieces: 25, delayMs: 10 } };
  await send(world, target, streams, 256, world.either(800, 300));
}

async function send(
  world: BenchWorld,
  target: Target,
  shape: RequestShape,
  connections: number,
  windowMs: number,
): Promise<void> {
  const settings = { target, shape, connections, rampMs: 100, warmupMs: 0, windowMs };
  clean(target.name, await world.load(settings));
}
