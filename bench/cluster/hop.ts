import { addedMs, clean } from "../figures/cost.ts";
import { median } from "../figures/spread.ts";
import type { LoadResult } from "../load/load.ts";
import { rotated } from "../measurements/interleave.ts";
import type { Load } from "../measurements/loads.ts";
import type { BenchWorld } from "../processes/world.ts";
import type { BenchFigure } from "../row.ts";
import type { BenchCluster } from "./cluster-world.ts";

export interface ClusterMeasurement {
  title: string;
  measure(
    world: BenchWorld,
    cluster: BenchCluster,
  ): Promise<{ figures: BenchFigure[]; seen: string[] }>;
}

type Side = "owner" | "hop";

/** CPU time of both hubs per JSON request, beyond that of one. */
export const hopOfJson: ClusterMeasurement = {
  title:
    "a request through another hub: CPU of both per JSON request, 128 at once, beyond that of one",
  measure: async (world, cluster) => {
    const shape = { shape: { bodyBytes: 1_024 }, connections: 128, rampMs: 60 };
    const times = { warmupMs: 300, windowMs: world.either(1_000, 500) };
    return cpuOf(world, cluster, { ...shape, ...times }, "responses", 70);
  },
};

/** The same per chunk of paced streams. */
export const hopOfStreams: ClusterMeasurement = {
  title: "CPU of both hubs per streamed chunk, 100 streams × 50/s, beyond that of one",
  measure: async (world, cluster) => {
    const shape = { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } };
    const times = { rampMs: 400, warmupMs: 200, windowMs: world.either(1_200, 900) };
    return cpuOf(world, cluster, { shape, connections: 100, ...times }, "tokens", 18);
  },
};

/** What the hop adds to the time of a request that is alone. */
export const hopOfOne: ClusterMeasurement = {
  title: "one request at a time through another hub: what that adds to its time",
  measure: async (world, cluster) => {
    const shape = { shape: { bodyBytes: 1_024 }, connections: 1, rampMs: 0 };
    const rounds = await alternate(world, cluster, world.either(8, 2), {
      ...{ ...shape, warmupMs: 200, windowMs: world.either(800, 400) },
    });
    const value = addedMs(rounds.hop, rounds.owner, ({ wholeMs }) => wholeMs.p50);
    const p50 = (side: Side) => median(rounds[side].map(({ wholeMs }) => wholeMs.p50)).toFixed(3);
    return {
      figures: [{ what: "added to the p50", value, goal: 0.5, unit: "ms" }],
      seen: [`p50 through its own hub ${p50("owner")} ms, through another ${p50("hop")} ms`],
    };
  },
};

async function cpuOf(
  world: BenchWorld,
  cluster: BenchCluster,
  shape: Load,
  per: "responses" | "tokens",
  goal: number,
): Promise<{ figures: BenchFigure[]; seen: string[] }> {
  const rounds = await alternate(world, cluster, world.either(9, 1), shape);
  const one = rounds.owner.map((result) => cpuUs(result, per, ["target"]));
  const both = rounds.hop.map((result) => cpuUs(result, per, ["target", "owner"]));
  const value = median(both.map((us, round) => us - (one[round] ?? Number.NaN)));
  const what = per === "responses" ? "a request" : "a chunk";
  return {
    figures: [{ what: `added to ${what}`, value, goal, unit: "µs" }],
    seen: [
      `one hub ${median(one).toFixed(1)} µs at ${rateOf(rounds.owner, per)}/s, ` +
        `both ${median(both).toFixed(1)} µs at ${rateOf(rounds.hop, per)}/s`,
    ],
  };
}

function rateOf(results: readonly LoadResult[], per: "responses" | "tokens"): string {
  const rate = median(results.map((result) => result[per] / result.seconds));
  return Math.round(rate).toLocaleString("en");
}

function cpuUs(result: LoadResult, per: "responses" | "tokens", processes: string[]): number {
  const ms = processes.reduce((sum, name) => sum + (result.cpuMs[name] ?? Number.NaN), 0);
  return (ms * 1_000) / result[per];
}

/** Both ways in turn, so that a disturbance of the machine affects both. */
async function alternate(
  world: BenchWorld,
  { owner, targets }: BenchCluster,
  rounds: number,
  settings: Load,
): Promise<Record<Side, LoadResult[]>> {
  const seen: Record<Side, LoadResult[]> = { owner: [], hop: [] };
  for (let round = 0; round < rounds; round++) {
    for (const side of rotated<Side>(["owner", "hop"], round)) {
      const pids: Record<string, number> = side === "hop" ? { owner: owner.child.pid } : {};
      const result = await world.load({ ...settings, target: targets[side], pids });
      seen[side].push(clean(side, result));
    }
  }
  return seen;
}
