import { writeFile } from "node:fs/promises";
import { startNatsServer } from "../../tests/support/programs/nats-server.ts";
import { until } from "../../tests/support/waiting.ts";
import {
  type BenchHub,
  hubTarget,
  joinByTunnel,
  joinDirectly,
  manyAtOnce,
  openRoom,
  startHub,
} from "../processes/hub.ts";
import type { BenchWorld } from "../processes/world.ts";
import type { Target } from "../load/target.ts";
import { warmUp } from "../load/warm-up.ts";

/** Two hubs as `roomhub serve --nats` starts them, and a participant that one of them owns. */
export interface BenchCluster {
  owner: BenchHub;
  entry: BenchHub;
  room: string;
  /** through the hub that owns the participant, and through the other one */
  targets: { owner: Target; hop: Target };
}

export async function startBenchCluster(world: BenchWorld): Promise<BenchCluster> {
  const nats = await startNatsServer();
  world.beforeEnd(async () => nats[Symbol.asyncDispose]());
  const secretPath = world.newPath("secret");
  await writeFile(secretPath, "x".repeat(48), { mode: 0o600 });
  const env = { ROOMHUB_NATS: nats.url, ROOMHUB_CLUSTER_SECRET_FILE: secretPath };
  // For as many participants as one of the rows has.
  const limits = { participantsPerHub: 12_000, roomCreationBurst: 100 };
  const owner = await startHub(world, { env, limits });
  const entry = await startHub(world, { env, limits });
  const room = await openRoom(owner);
  const participant = await joinByTunnel(world, owner.url, room, {
    ...{ count: 1, prefix: "p", maxConcurrency: manyAtOnce, isQuiet: true },
  });
  await linked(entry);
  // A room with an endpoint that only its home reaches stays: otherwise it moves to where most requests enter.
  await joinDirectly(owner, room, "stays", (await world.provider()).url);
  const targetOf = (name: string, hub: BenchHub) =>
    hubTarget(name, hub, room, ["p-0"], participant);
  const targets = { owner: targetOf("owner", owner), hop: targetOf("hop", entry) };
  for (const target of Object.values(targets)) await warmUp(world, target, 6);
  return { owner, entry, room, targets };
}

async function linked({ api }: BenchHub): Promise<void> {
  await until(
    "the link between the hubs",
    () => api.listHubs(),
    (hubs) => hubs.length === 2 && hubs.every(({ link }) => link !== "down"),
    20_000,
  );
}
