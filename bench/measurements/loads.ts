import type { LoadSettings } from "../load/load.ts";
import type { BenchWorld } from "../processes/world.ts";

/** What is sent, how much of it at once, and for how long; by each target in turn. */
export type Load = Omit<LoadSettings, "target" | "pids">;

/** JSON requests of 1 KB, responses of 1 KB, 128 at once. */
export function jsonAtOnce(world: BenchWorld): Load {
  return {
    shape: { bodyBytes: 1_024 },
    connections: 128,
    rampMs: 60,
    warmupMs: world.either(240, 200),
    windowMs: world.either(800, 500),
  };
}

/** 200 streams at once with 50 tokens a second each, 100 tokens long. */
export function streamsAtPace(world: BenchWorld): Load {
  return {
    shape: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } },
    connections: 200,
    rampMs: world.either(500, 400),
    warmupMs: world.either(200, 100),
    windowMs: world.either(1_400, 900),
  };
}

/** 50 streams of a provider that writes one token per turn of its event loop and stream, as fast as they are taken. */
export function streamsFlatOut(world: BenchWorld): Load {
  return {
    shape: { bodyBytes: 1_024, plain: { pieces: 2_000, delayMs: 0 } },
    connections: 50,
    rampMs: 100,
    warmupMs: world.either(300, 200),
    windowMs: world.either(1_200, 600),
  };
}

/** JSON requests of 1 KB, responses of 1 KB, one at a time. Short: other programs disturb a lone request more than a busy hub. */
export function oneAtATime(world: BenchWorld): Load {
  return {
    shape: { bodyBytes: 1_024 },
    connections: 1,
    rampMs: 0,
    warmupMs: 150,
    windowMs: world.either(500, 400),
  };
}
