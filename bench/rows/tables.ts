import { readFileSync } from "node:fs";
import { type Child, roomhubCommand } from "../../tests/faults/child.ts";
import { until } from "../../tests/support/waiting.ts";
import { clean, costUs, ratioOf } from "../cost.ts";
import { joinByTunnel, openRoom, sharedModel, startHub } from "../hub.ts";
import { hubTarget } from "../hub.ts";
import { rotated } from "../interleave.ts";
import type { LoadResult, LoadWish } from "../load.ts";
import { type BenchFigure, measured, type Row } from "../row.ts";
import { median } from "../spread.ts";
import type { Target } from "../target.ts";
import { warmUp } from "../warm-up.ts";
import type { BenchWorld } from "../world.ts";

type Manner = "table" | "quiet";
const manners: readonly Manner[] = ["table", "quiet"];

/** One command in both manners, side by side, and what puts load on it. */
interface Command {
  name: "join" | "up" | "events";
  /** the load on this one is what the command of that manner prints */
  targets: Record<Manner, Target>;
  /** the commands themselves, whose time is measured */
  pids: Record<Manner, number>;
}

interface Load {
  what: string;
  per: "answers" | "tokens";
  wish: Omit<LoadWish, "target" | "pids" | "rampMs" | "warmupMs" | "windowMs">;
}

const json: Load = {
  what: "JSON, 128 at once",
  per: "answers",
  wish: { ask: { bodyBytes: 1_024 }, connections: 128 },
};
const lone: Load = {
  what: "JSON, one at a time",
  per: "answers",
  wish: { ask: { bodyBytes: 1_024 }, connections: 1 },
};
const paced: Load = {
  what: "200 streams × 50/s",
  per: "tokens",
  wish: { ask: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } }, connections: 200 },
};

const goal = 1.1;

/** What a command prints while it works must cost next to nothing beside the work. */
export const tables: Row = {
  id: "19",
  title: "CPU of `join`, `up` and `events` with what they print, against `--quiet`",
  seconds: { full: 70, quick: 18 },
  async run(world) {
    const figures: BenchFigure[] = [];
    const seen: string[] = [];
    const measure = async (command: Command, loads: readonly Load[]) => {
      for (const load of loads) {
        const rounds = await inBothManners(world, command, load);
        const what = `${command.name}, ${load.what}`;
        figures.push({ what, value: ratioOf(rounds.table, rounds.quiet), goal, unit: "×" });
        const costs = manners.map((manner) => `${median(rounds[manner]).toFixed(1)} µs ${manner}`);
        seen.push(`${what}: ${costs.join(", ")}`);
      }
    };
    await measure(await startJoins(world), [json, lone, paced]);
    await measure(await startUps(world), [json, paced]);
    await measure(await startWatchers(world), [json]);
    return measured(figures, seen);
  },
};

/** What an answer or token cost each of them, round by round. */
async function inBothManners(
  world: BenchWorld,
  { name, targets, pids }: Command,
  { what, per, wish }: Load,
): Promise<Record<Manner, number[]>> {
  const costs: Record<Manner, number[]> = { table: [], quiet: [] };
  for (let round = 0; round < world.either(5, 1); round++) {
    for (const manner of rotated(manners, round)) {
      const result: LoadResult = await world.load({
        ...{ ...wish, target: targets[manner], pids: { command: pids[manner] } },
        ...{ rampMs: 200, warmupMs: world.either(400, 200), windowMs: world.either(1_000, 500) },
      });
      costs[manner].push(costUs(clean(`${name}, ${what}`, result), per, "command"));
    }
  }
  return costs;
}

async function startJoins(world: BenchWorld): Promise<Command> {
  const hub = await startHub(world);
  const start = async (manner: Manner) => {
    const room = await openRoom(hub);
    const wish = { count: 1, prefix: manner, isQuiet: manner === "quiet" };
    const participant = await joinByTunnel(world, hub.url, room, wish);
    const target = hubTarget(manner, hub, room, [sharedModel]);
    await warmUp(world, target, 5);
    return { target, pid: participant.pid };
  };
  return inBoth("join", await start("table"), await start("quiet"));
}

async function startUps(world: BenchWorld): Promise<Command> {
  const provider = await world.provider();
  const start = async (manner: Manner) => {
    const outputPath = world.newPath("up.log");
    const flags = [
      "--port",
      "0",
      "--ephemeral",
      "--endpoint",
      provider.url,
      "--model",
      sharedModel,
    ];
    const quiet = manner === "quiet" ? ["--quiet"] : [];
    const child = world.children.command([...roomhubCommand, "up", ...flags, ...quiet], outputPath);
    const { port, path } = await invitation(child, outputPath);
    const target: Target = {
      ...{ name: `up, ${manner}`, models: [sharedModel], port, pid: child.pid },
      ...{ path: `${path}/v1/chat/completions`, headers: {}, isTransparent: true },
    };
    await warmUp(world, target, 5);
    return { target, pid: child.pid };
  };
  return inBoth("up", await start("table"), await start("quiet"));
}

/** Both watch the same room, so each load is on both, and only one of them is looked at. */
async function startWatchers(world: BenchWorld): Promise<Command> {
  const hub = await startHub(world);
  const room = await openRoom(hub);
  await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
  const target = hubTarget("events", hub, room, [sharedModel]);
  const start = (manner: Manner) => {
    const quiet = manner === "quiet" ? ["--quiet"] : [];
    return world.children.command(
      [...roomhubCommand, "events", room, "--hub", hub.url, ...quiet],
      world.newPath("events.log"),
    );
  };
  const [table, quiet] = [start("table"), start("quiet")];
  await warmUp(world, target, 5);
  return inBoth("events", { target, pid: table.pid }, { target, pid: quiet.pid });
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

function inBoth(
  name: Command["name"],
  table: { target: Target; pid: number },
  quiet: { target: Target; pid: number },
): Command {
  return {
    name,
    targets: { table: table.target, quiet: quiet.target },
    pids: { table: table.pid, quiet: quiet.pid },
  };
}
