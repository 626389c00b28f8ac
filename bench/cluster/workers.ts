import { RoomhubClient } from "@roomhub/client";
import { availableParallelism } from "node:os";
import { freePort } from "../../tests/support/programs/nginx.ts";
import { until } from "../../tests/support/waiting.ts";
import { clean, ratioOf } from "../figures/cost.ts";
import { median } from "../figures/spread.ts";
import type { LoadResult } from "../load/load.ts";
import type { Target } from "../load/target.ts";
import { warmUp } from "../load/warm-up.ts";
import { rotated } from "../measurements/interleave.ts";
import { hubTarget, joinByTunnel, manyAtOnce, openRoom, startHub } from "../processes/hub.ts";
import { pinTo, processesBelow } from "../processes/pinned.ts";
import type { BenchWorld } from "../processes/world.ts";
import type { ClusterMeasurement } from "./hop.ts";

/** One hub, or several on one port, and everything that they need CPU time for. */
interface Side {
  target: Target;
  /** beside the target's own process */
  pids: Record<string, number>;
  participant: number;
}

const shapes = {
  responses: { shape: { bodyBytes: 1_024 }, connections: 128, rampMs: 60, warmupMs: 300 },
  tokens: {
    shape: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } },
    ...{ connections: 100, rampMs: 400, warmupMs: 200 },
  },
};

/**
 * What a second worker costs. All hubs share one core, and what is no hub the other: on two cores two workers serve no more
 * than one hub, since load generator, participant and model server need as much CPU as a hub.
 */
export const workersAgainstOne: ClusterMeasurement = {
  title: "`serve --workers 2` against one hub, both on one core: CPU of all its processes",
  measure: async (world) => {
    if (availableParallelism() < 2) return { figures: [], seen: ["needs two cores"] };
    const sides = { one: await startOne(world), two: await startWorkers(world) };
    for (const { target } of Object.values(sides)) await warmUp(world, target, 4);
    const release = await pin(world, Object.values(sides));
    try {
      const json = await compare(world, sides, "responses");
      const chunks = await compare(world, sides, "tokens");
      return {
        figures: [
          {
            what: "a JSON request, two workers / one hub",
            value: json.ratio,
            goal: 1.3,
            unit: "×",
          },
          { what: "a chunk, two workers / one hub", value: chunks.ratio, goal: 1.25, unit: "×" },
        ],
        seen: [`JSON ${json.seen}`, `chunks ${chunks.seen}`],
      };
    } finally {
      release();
    }
  },
};

async function startOne(world: BenchWorld): Promise<Side> {
  const hub = await startHub(world);
  const room = await openRoom(hub);
  const joined = await joinByTunnel(world, hub.url, room, wish);
  return { target: hubTarget("one hub", hub, room, ["p-0"]), pids: {}, participant: joined.pid };
}

const wish = { count: 1, prefix: "p", maxConcurrency: manyAtOnce, isQuiet: true };

async function startWorkers(world: BenchWorld): Promise<Side> {
  const port = await freePort();
  const supervisor = world.children.roomhub({
    args: [
      ...["serve", "--port", String(port), "--workers", "2", "--ephemeral"],
      ...["--log-format", "text"],
    ],
    outputPath: world.newPath("workers.log"),
  });
  // Only its supervisor stops them.
  world.beforeEnd(() => supervisor.kill("SIGTERM"));
  const url = `http://127.0.0.1:${port}`;
  const api = new RoomhubClient({ hubUrl: url });
  await until(
    "two linked workers",
    () => api.listHubs().catch(() => []),
    (hubs) => hubs.length === 2 && hubs.every(({ link }) => link !== "down"),
    20_000,
  );
  const hub = { child: supervisor, url, port, api };
  const room = await openRoom(hub);
  const joined = await joinByTunnel(world, url, room, wish);
  const below = processesBelow(supervisor.pid);
  const [first, ...others] = below.filter(({ command }) => command.includes(" serve "));
  const nats = below.find(({ command }) => command.includes("nats-server"));
  const [second] = others;
  if (first === undefined || second === undefined || nats === undefined)
    throw new Error("the workers, or their nats-server, are not there");
  const target = { ...hubTarget("two workers", hub, room, ["p-0"]), pid: first.pid };
  return { target, pids: { second: second.pid, nats: nats.pid }, participant: joined.pid };
}

async function pin(world: BenchWorld, sides: readonly Side[]): Promise<() => void> {
  const [load, provider] = await Promise.all([world.loadProgram(), world.provider()]);
  const hubs = sides.flatMap(({ target, pids }) => [target.pid, ...Object.values(pids)]);
  const others = [load.pid, provider.pid, ...sides.map(({ participant }) => participant)];
  const releases = [pinTo(0, hubs), pinTo(1, others)];
  return () => {
    for (const release of releases) release();
  };
}

async function compare(
  world: BenchWorld,
  sides: Record<"one" | "two", Side>,
  per: "responses" | "tokens",
): Promise<{ ratio: number; seen: string }> {
  const results: Record<"one" | "two", LoadResult[]> = { one: [], two: [] };
  for (let round = 0; round < world.either(8, 1); round++) {
    for (const name of rotated<"one" | "two">(["one", "two"], round)) {
      const { target, pids } = sides[name];
      const settings = { ...shapes[per], windowMs: world.either(1_200, 500), target, pids };
      results[name].push(clean(target.name, await world.load(settings)));
    }
  }
  const costs = (name: "one" | "two") =>
    results[name].map((result) => {
      const ms = ["target", ...Object.keys(sides[name].pids)].map((pid) => result.cpuMs[pid] ?? 0);
      return (ms.reduce((sum, one) => sum + one, 0) * 1_000) / result[per];
    });
  const text = (name: "one" | "two") => {
    const rate = median(results[name].map((result) => result[per] / result.seconds));
    return `${median(costs(name)).toFixed(1)} µs at ${Math.round(rate).toLocaleString("en")}/s`;
  };
  return {
    ratio: ratioOf(costs("two"), costs("one")),
    seen: `${text("one")} with one hub, ${text("two")} with two workers, nats-server included`,
  };
}
