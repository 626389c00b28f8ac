import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { roomhubCommand } from "../../tests/faults/child.ts";
import { until } from "../../tests/support/waiting.ts";
import { clean, costRatio, costsSeen, costUs } from "../figures/cost.ts";
import { rotated } from "../measurements/interleave.ts";
import { median } from "../figures/spread.ts";
import { warmUp } from "../load/warm-up.ts";
import type { LoadResult, LoadSettings } from "../load/load.ts";
import type { Target } from "../load/target.ts";
import { joinByTunnel, openRoom, sharedModel, startHub } from "../processes/hub.ts";
import type { BenchWorld } from "../processes/world.ts";
import { measured, type Row } from "../row.ts";

type Load = Pick<LoadSettings, "shape" | "connections">;

const json: Load = { shape: { bodyBytes: 1_024 }, connections: 32 };
const paced: Load = {
  shape: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } },
  connections: 100,
};

/** Another process between client and hub, with TLS to the hub: what it costs the client's machine. */
export const doorCost: Row = {
  id: "33",
  title: "CPU of `roomhub open` over TLS with a pin, 32 requests at once and 100 streams × 50/s",
  seconds: { full: 50, quick: 10 },
  async run(world) {
    const targets = await startTargets(world);
    const requests = await roundsOf(world, targets, json);
    const chunks = await roundsOf(world, targets, paced);
    const costs = (results: readonly LoadResult[], per: "responses" | "tokens") =>
      median(results.map((result) => costUs(result, per)));
    return measured(
      [
        { what: "per request", value: costs(requests.door, "responses"), goal: 60, unit: "µs" },
        { what: "per chunk", value: costs(chunks.door, "tokens"), goal: 15, unit: "µs" },
        {
          ...{ what: "per request / bare pipe", goal: undefined, unit: "×" },
          value: costRatio(requests.door, requests.pipe, "responses"),
        },
        {
          ...{ what: "per chunk / bare pipe", goal: undefined, unit: "×" },
          value: costRatio(chunks.door, chunks.pipe, "tokens"),
        },
      ],
      [...costsSeen({ ...requests }, "responses"), ...costsSeen({ ...chunks }, "tokens")],
    );
  },
};

type Targets<Of> = Record<"door" | "pipe", Of>;

async function roundsOf(
  world: BenchWorld,
  targets: Targets<Target>,
  load: Load,
): Promise<Targets<LoadResult[]>> {
  const seen: Targets<LoadResult[]> = { door: [], pipe: [] };
  for (let round = 0; round < world.either(6, 1); round++) {
    for (const name of rotated(["door", "pipe"] as const, round)) {
      const result = await world.load({
        ...{ ...load, target: targets[name], rampMs: 300, warmupMs: world.either(400, 200) },
        windowMs: world.either(1_500, 800),
      });
      seen[name].push(clean(name, result));
    }
  }
  return seen;
}

/** `roomhub open`, with the lines that it prints, and a bare pipe, before the same sealed hub. */
async function startTargets(world: BenchWorld): Promise<Targets<Target>> {
  const folder = world.path("door-state");
  const env = { XDG_STATE_HOME: folder, XDG_RUNTIME_DIR: folder };
  const hub = await startHub(world, { flags: ["--tls"], env });
  const room = await openRoom(hub);
  await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
  const { pin } = await hub.api.health();
  const invite = `${hub.url}/rooms/${room}#pin=${pin}`;
  const set = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const open = await started(
    world,
    ["env", ...set, ...roomhubCommand, "open", invite, "--port", "0"],
    /OPENAI_BASE_URL=http:\/\/127\.0\.0\.1:(\d+)\/v1\nOPENAI_API_KEY=(rhd_\S+)/,
  );
  const program = fileURLToPath(new URL("../programs/tls-pipe.ts", import.meta.url));
  const bare = await started(
    world,
    [process.execPath, program, String(hub.port)],
    /listening on (\d+)/,
  );
  const [port, key] = open.found;
  const common = { models: [sharedModel], isTransparent: true };
  const door: Target = {
    ...{ ...common, name: "door", port: Number(port), pid: open.pid },
    path: "/v1/chat/completions",
    headers: { host: `127.0.0.1:${port}`, authorization: `Bearer ${key}` },
  };
  const pipe: Target = {
    ...{ ...common, name: "pipe", port: Number(bare.found[0]), pid: bare.pid, headers: {} },
    path: `/rooms/${room}/v1/chat/completions`,
  };
  for (const target of [door, pipe]) await warmUp(world, target, 3);
  return { door, pipe };
}

/** @param says - what it prints once it runs; its groups are returned */
async function started(
  world: BenchWorld,
  command: readonly [string, ...string[]],
  says: RegExp,
): Promise<{ pid: number; found: string[] }> {
  const outputPath = world.newPath("door.log");
  const { pid } = world.children.command(command, outputPath);
  const find = () => says.exec(readFileSync(outputPath, "utf8"));
  const match = await until(String(command), find, (found) => found !== null);
  return { pid, found: match?.slice(1) ?? [] };
}
