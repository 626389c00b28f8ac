import { clean, costRatio, costsSeen } from "../figures/cost.ts";
import { rotated } from "../measurements/interleave.ts";
import type { LoadResult, LoadSettings } from "../load/load.ts";
import type { Target } from "../load/target.ts";
import { warmUp } from "../load/warm-up.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "../processes/hub.ts";
import type { BenchWorld } from "../processes/world.ts";
import { startNginx } from "../peers/nginx.ts";
import { testCertificate } from "../../tests/support/hub/test-certificate.ts";
import { measured, type Row, skipped } from "../row.ts";

type Server = "plain" | "tls" | "nginx";
type Rounds = Record<Server, LoadResult[]>;
type Load = Pick<LoadSettings, "shape" | "connections">;

const json: Load = { shape: { bodyBytes: 1_024 }, connections: 128 };
const paced: Load = {
  shape: { bodyBytes: 1_024, plain: { pieces: 100, delayMs: 20 } },
  connections: 200,
};

/** The same hub, room and participant by both schemes, and nginx with TLS, on connections that are kept. */
export const tlsCost: Row = {
  id: "34",
  title:
    "hub CPU with TLS to its clients against plain HTTP and nginx with TLS, 128 requests and 200 streams at once",
  seconds: { full: 75, quick: 15 },
  async run(world) {
    const hub = await startHub(world, { flags: ["--tls", "--ephemeral"] });
    const room = await openRoom(hub);
    await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
    const plain = hubTarget("plain", hub, room, [sharedModel]);
    const nginx = await startNginx(world, { folder: "tls", tls: testCertificate() });
    if (nginx === undefined) return skipped("nginx");
    const targets = { plain, tls: { ...plain, name: "tls", isTls: true }, nginx };
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
        {
          ...{ what: "per JSON request / nginx with TLS", goal: 2, unit: "×" },
          value: costRatio(requests.tls, requests.nginx, "responses"),
        },
        {
          ...{ what: "per token / nginx with TLS", goal: 2, unit: "×" },
          value: costRatio(tokens.tls, tokens.nginx, "tokens"),
        },
      ],
      [...costsSeen(requests, "responses"), ...costsSeen(tokens, "tokens")],
    );
  },
};

async function roundsOf(
  world: BenchWorld,
  targets: Record<Server, Target>,
  load: Load,
): Promise<Rounds> {
  const seen: Rounds = { plain: [], tls: [], nginx: [] };
  for (let round = 0; round < world.either(6, 1); round++) {
    for (const server of rotated(["plain", "tls", "nginx"] as const, round)) {
      const result = await world.load({
        ...{ ...load, target: targets[server], rampMs: 300, warmupMs: world.either(400, 200) },
        windowMs: world.either(1_500, 800),
      });
      seen[server].push(clean(server, result));
    }
  }
  return seen;
}
