import { readFileSync } from "node:fs";
import { type Child, roomhubCommand } from "../../tests/faults/child.ts";
import { until } from "../../tests/support/waiting.ts";
import { clean, costUs, ratioOf } from "../figures/cost.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "../processes/hub.ts";
import { rotated } from "../measurements/interleave.ts";
import type { LoadResult, LoadSettings } from "../load/load.ts";
import { type BenchFigure, measured, type Row } from "../row.ts";
import { median } from "../figures/spread.ts";
import type { Target } from "../load/target.ts";
import { warmUp } from "../load/warm-up.ts";
import type { BenchWorld } from "../processes/world.ts";

type Manner = "table" | "quiet";
const manners: readonly Manner[] = ["table", "quiet"];

/** A running command, and the target that gives it work. */
interface Running {
  target: Target;
  pid: number;
}

/** One command with and without its table, side by side. */
interface Pair extends Record<Manner, Running> {}

/** Of two processes that do the same, one costs some per cent more for as long as it runs: a single pair proves nothing. */
const pairCount = 2;

interface Load {
  what: string;
  per: "responses" | "tokens";
  settings: Pick<LoadSettings, "shape" | "connections">;
}

const json: Load = {
  what: "JSON, 128 at once",
  per: "responses",
  settings: { shape: { bodyBytes: 1_024 }, connections: 128 },
};
const lone: Load = {
  what: "JSON, one at a time",
  per: "responses",
  settings: { shape: { bodyBytes: 1_024 }, connections: 1 },
};
const paced: Load = {
  what: "200 streams × 50/s",
  per: "tokens",
  settings: { shape: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } }, connections: 200 },
};

/** Printing must cost a command next to nothing compared with its work. */
export const tables: Row = {
  id: "19",
  title: "CPU of `join`, `up` and `events` with what they print, against `--quiet`",
  seconds: { full: 95, quick: 30 },
  async run(world) {
    const figures: BenchFigure[] = [];
    const seen: string[] = [];
    const measure = async (
      name: string,
      start: (world: BenchWorld) => Promise<Pair>,
      loads: readonly Load[],
    ) => {
      const pairs: Pair[] = [];
      while (pairs.length < pairCount) pairs.push(await start(world));
      for (const load of loads) {
        const what = `${name}, ${load.what}`;
        const costs = await costsOf(world, pairs, load, what);
        figures.push({ what, value: ratioOf(costs.table, costs.quiet), goal: 1.1, unit: "×" });
        const texts = manners.map((manner) => `${median(costs[manner]).toFixed(1)} µs ${manner}`);
        seen.push(`${what}: ${texts.join(", ")}`);
      }
    };
    await measure("join", startJoins, [json, lone, paced]);
    await measure("up", startUps, [json]);
    await measure("events", startWatchers, [json]);
    return measured(figures, seen);
  },
};

/** The cost of a response or token in each manner, round by round. Many short rounds: the difference is less than the noise. */
async function costsOf(
  world: BenchWorld,
  pairs: readonly Pair[],
  { per, settings }: Load,
  what: string,
): Promise<Record<Manner, number[]>> {
  const costs: Record<Manner, number[]> = { table: [], quiet: [] };
  for (let round = 0; round < world.either(10, 2); round++) {
    const pair = pairs[round % pairs.length];
    if (pair === undefined) continue;
    const { table, quiet } = pair;
    const isShared = table.target === quiet.target;
    const order = rotated(manners, Math.floor(round / pairs.length));
    for (const loaded of isShared ? order.slice(0, 1) : order) {
      const result: LoadResult = await world.load({
        ...{ ...settings, target: { table, quiet }[loaded].target },
        ...{ rampMs: 100, warmupMs: 200, windowMs: world.either(600, 400) },
        pids: { table: table.pid, quiet: quiet.pid },
      });
      clean(what, result);
      for (const manner of isShared ? manners : [loaded]) {
        costs[manner].push(costUs(result, per, manner));
      }
    }
  }
  return costs;
}

async function startJoins(world: BenchWorld): Promise<Pair> {
  const hub = await startHub(world);
  const start = async (manner: Manner): Promise<Running> => {
    const room = await openRoom(hub);
    const settings = { count: 1, prefix: manner, isQuiet: manner === "quiet" };
    const participant = await joinByTunnel(world, hub.url, room, settings);
    const target = hubTarget(manner, hub, room, [sharedModel]);
    await warmUp(world, target, 3);
    return { target, pid: participant.pid };
  };
  return { table: await start("table"), quiet: await start("quiet") };
}

async function startUps(world: BenchWorld): Promise<Pair> {
  const provider = await world.provider();
  const start = async (manner: Manner): Promise<Running> => {
    const outputPath = world.newPath("up.log");
    const model = ["--endpoint", provider.url, "--model", sharedModel];
    const args = ["up", "--port", "0", "--ephemeral", ...model, ...flagsOf(manner)];
    const child = world.children.command([...roomhubCommand, ...args], outputPath);
    const { port, path } = await invitation(child, outputPath);
    const target: Target = {
      ...{ name: `up, ${manner}`, models: [sharedModel], port, pid: child.pid },
      ...{ path: `${path}/v1/chat/completions`, headers: {}, isTransparent: true },
    };
    await warmUp(world, target, 3);
    return { target, pid: child.pid };
  };
  return { table: await start("table"), quiet: await start("quiet") };
}

/** Both watch the same room. */
async function startWatchers(world: BenchWorld): Promise<Pair> {
  const hub = await startHub(world);
  const room = await openRoom(hub);
  await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
  const target = hubTarget("events", hub, room, [sharedModel]);
  const start = (manner: Manner): Running => {
    const args = ["events", room, "--hub", hub.url, ...flagsOf(manner)];
    const command = [...roomhubCommand, ...args] as const;
    const { pid } = world.children.command(command, world.newPath("events.log"));
    return { target, pid };
  };
  const pair = { table: start("table"), quiet: start("quiet") };
  await warmUp(world, target, 3);
  return pair;
}

function flagsOf(manner: Manner): string[] {
  return manner === "quiet" ? ["--quiet"] : [];
}

/** Where a room is, from the first URL of it that `up` prints. */
async function invitation(
  child: Child,
  outputPath: string,
): Promise<{ port: number; path: string }> {
  const find = () => {
    if (child.hasEnded) throw new Error(`roomhub up ended: ${readFileSync(outputPath, "utf8")}`);
    return /http:\/\/127\.0\.0\.1:(\d+)(\/rooms\/\w+)/.exec(readFileSync(outputPath, "utf8"));
  };
  const found = await until("roomhub up to print its room", find, (match) => match !== null);
  return { port: Number(found?.[1]), path: found?.[2] ?? "" };
}
