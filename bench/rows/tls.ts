import { clean, costRatio, costsSeen } from "../figures/cost.ts";
import { rotated } from "../measurements/interleave.ts";
import type { LoadResult, LoadSettings } from "../load/load.ts";
import type { Target } from "../load/target.ts";
import { warmUp } from "../load/warm-up.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "../processes/hub.ts";
import type { BenchWorld } from "../processes/world.ts";
import { measured, type Row } from "../row.ts";

type Scheme = "plain" | "tls";
type Rounds = Record<Scheme, LoadResult[]>;
type Load = Pick<LoadSettings, "shape" | "connections">;

const json: Load = { shape: { bodyBytes: 1_024 }, connections: 128 };
const paced: Load = {
  shape: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } },
  connections: 200,
};

/** The same hub, room and participant by both schemes, on connections that are kept. */
export const tlsCost: Row = {
  id: "34",
  title: "hub CPU with TLS to its clients against plain HTTP, 128 requests and 200 streams at once",
  seconds: { full: 50, quick: 10 },
  async run(world) {
    const hub = await startHub(world, { flags: ["--tls", "--ephemeral"] });
    const room = await openRoom(hub);
    await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
    const plain = hubTarget("plain", hub, room, [sharedModel]);
    const targets = { plain, tls: { ...plain, name: "tls", isTls: true } };
    for (const target of Object.values(targets)) await warmUp(world, target, 3);
    const requests = await roundsOf(world, targets, json);
    const tokens = await roundsOf(world, targets, paced);
    return measured(
      [
        {
          ...{ what: "per JSON request", goal: 1.5, unit: "×" },
          value: costRatio(requests.tls, requests.plain, "responses"),
        },
        {
          ...{ what: "per token", goal: 1.5, unit: "×" },
          value: costRatio(tokens.tls, tokens.plain, "tokens"),
        },
      ],
      [...costsSeen(requests, "responses"), ...costsSeen(tokens, "tokens")],
    );
  },
};

async function roundsOf(
  world: BenchWorld,
  targets: Record<Scheme, Target>,
  load: Load,
): Promise<Rounds> {
  const seen: Rounds = { plain: [], tls: [] };
  for (let round = 0; round < world.either(6, 1); round++) {
    for (const scheme of rotated(["plain", "tls"] as const, round)) {
      const result = await world.load({
        ...{ ...load, target: targets[scheme], rampMs: 300, warmupMs: world.either(400, 200) },
        windowMs: world.either(1_500, 800),
      });
      seen[scheme].push(clean(scheme, result));
    }
  }
  return seen;
}
