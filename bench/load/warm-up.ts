import { clean } from "../figures/cost.ts";
import type { Ask, Target } from "./target.ts";
import type { BenchWorld } from "../processes/world.ts";

/**
 * Requests that count for nothing: a program that has just started is compiled while it runs, and its heap grows to what it
 * works in. Many at once, since that is what makes it grow.
 *
 * @param seconds - of JSON requests, in a full run: all is compiled after eight
 */
export async function warmUp(world: BenchWorld, target: Target, seconds = 2): Promise<void> {
  await ask(world, target, { bodyBytes: 1_024 }, 128, world.either(seconds * 1_000, 400));
  // Others read what they pass on, and one that is not made for streams fails here.
  if (!target.isTransparent) return;
  const streams = { bodyBytes: 1_024, plain: { pieces: 25, delayMs: 10 } };
  await ask(world, target, streams, 256, world.either(800, 300));
}

async function ask(
  world: BenchWorld,
  target: Target,
  ask: Ask,
  connections: number,
  windowMs: number,
): Promise<void> {
  const wish = { target, ask, connections, rampMs: 100, warmupMs: 0, windowMs };
  clean(target.name, await world.load(wish));
}
