import { until } from "../../../support/waiting.ts";
import { Cluster } from "../../cluster/cluster.ts";
import { inMs, must, pauseMs } from "../../figure.ts";
import type { Program } from "../../child.ts";
import type { WandererHandlers } from "../../programs/wanderers.ts";
import type { Scenario } from "../../scenario.ts";
import { createRandom } from "../../seeded-random.ts";
import { sharedNowMs } from "../../shared-clock.ts";
import type { World } from "../../world.ts";
import { clusterNeeds } from "./cluster-needs.ts";

interface Cut {
  name: string;
  between: readonly (readonly [string, string])[];
}

const hub1FromHubs = [
  ["hub1", "hub2"],
  ["hub1", "hub3"],
] as const;
const hub1FromNats = [["hub1", "nats"]] as const;
const othersFromNats = [
  ["hub2", "nats"],
  ["hub3", "nats"],
] as const;

const cuts: readonly Cut[] = [
  { name: "hub1 | hub2, hub3, NATS", between: [...hub1FromHubs, ...hub1FromNats] },
  { name: "hub1, NATS | hub2, hub3", between: [...hub1FromHubs, ...othersFromNats] },
  { name: "hub1 | hub2, hub3; NATS at all", between: hub1FromHubs },
  { name: "hub1 | NATS; links at all", between: hub1FromNats },
];

const ids = Array.from({ length: 8 }, (_, n) => `w${n + 1}`);

export const clusterPartitions: Scenario = {
  id: "C6",
  title:
    "after a partition every participant has one owner, whatever it joined, left and moved to meanwhile on either side",
  needs: clusterNeeds,
  isQuick: false,
  limitMs: 600_000,
  async run(world) {
    const cluster = await Cluster.open(world, { machines: ["wanderers"] });
    const wanderers = await world.children.program<WandererHandlers>(
      ...(["wanderers", [], cluster.network.machine("wanderers").prefix] as const),
    );
    await using followers = await cluster.follow();
    cluster.eventsMayMiss();
    cluster.connectionsMayBreak();
    await cluster.startLoad(1);
    const walk = createWalk(cluster, wanderers, createRandom(6));
    const agreedMs: number[] = [];
    // In the short tier the two that differ most.
    for (const cut of world.isQuick ? [cuts[0], cuts[2]] : cuts) {
      if (cut === undefined) continue;
      await walk(world.isQuick ? 12 : 30);
      for (const [one, other] of cut.between) cluster.network.cut(one, other);
      const isMoving = !world.isQuick && cut === cuts[0];
      // Its tunnel falls silent, too, while its hub takes it for connected.
      if (isMoving) cluster.network.cut("p1", "hub1");
      const cutMs = sharedNowMs();
      await walk(world.isQuick ? 24 : 80);
      if (isMoving) await movedFrom(cluster, cutMs, world);
      // Long enough for hubs to be declared dead.
      await pauseMs(Math.max(0, (world.isQuick ? 3_000 : 14_000) - (sharedNowMs() - cutMs)));
      cluster.network.heal();
      const healedMs = sharedNowMs();
      // Some come and go at once.
      await walk(world.isQuick ? 6 : 20);
      await cluster.agreed(60_000);
      agreedMs.push(sharedNowMs() - healedMs);
      await oneOwnerEach(cluster, wanderers, cut.name);
      await followers.agreed();
    }
    const longestMs = Math.max(...agreedMs);
    world.figure(
      `${agreedMs.length} partitions healed: all hubs agree, longest`,
      ...(["≤ 10 s", inMs(longestMs), longestMs <= 10_000] as const),
    );
  },
};

/** So many random steps, four at a time: some at the same participant at once. */
function createWalk(
  { hubs, code }: Cluster,
  wanderers: Program<WandererHandlers>,
  random: () => number,
): (steps: number) => Promise<void> {
  const oneOf = <Item>(items: readonly Item[]) =>
    items[Math.floor(random() * items.length)] as Item;
  const step = () => {
    const what = oneOf(["join", "join", "join", "rename", "leave"] as const);
    const { url: hubUrl } = oneOf(hubs);
    return wanderers.call("step", { what, hubUrl, room: code, id: oneOf(ids) });
  };
  return async (steps) => {
    for (let done = 0; done < steps; done += 4) {
      await Promise.all(Array.from({ length: 4 }, step));
    }
  };
}

/** p1's agent gives up its silent tunnel and joins a hub on the other side. */
async function movedFrom(cluster: Cluster, cutMs: number, world: World): Promise<void> {
  const [, two] = cluster.hubs;
  await until(
    "p1 to be served on the other side",
    async () => (await cluster.ask({ tag: `p1-${sharedNowMs()}`, hub: two, model: "p1" })).end,
    (end) => end === "complete",
    60_000,
  );
  const movedMs = sharedNowMs() - cutMs;
  world.figure(
    "a participant behind a silent partition is served by a hub on its side",
    ...(["≤ 40 s", inMs(movedMs), movedMs <= 40_000] as const),
  );
}

/** By what hubs own, by the tunnels that are open, and by requests through every hub. */
async function oneOwnerEach(
  cluster: Cluster,
  wanderers: Program<WandererHandlers>,
  during: string,
): Promise<void> {
  const [one] = cluster.hubs;
  const listed = await one.api.listParticipants(cluster.code);
  const look = async () => {
    const own = await Promise.all(cluster.hubs.map(({ api }) => api.listHubs()));
    return own.reduce((sum, [self]) => sum + (self?.participants ?? 0), 0);
  };
  await until(`${during}: hubs to own ${listed.length}`, look, (sum) => sum === listed.length);
  const before = await wanderers.call("tunnels");
  const open = before.filter(({ closeCode }) => closeCode === undefined);
  for (const id of ids) {
    const left = open.filter((tunnel) => tunnel.id === id);
    must(left.length <= 1, `${during}: ${id} has ${left.length} open tunnels`);
  }
  const lost = before.find(({ closeCode }) => closeCode !== undefined && !isOrderly(closeCode));
  must(lost === undefined, `${during}: a tunnel of ${lost?.id} closed with ${lost?.closeCode}`);
  const serving = listed.filter(({ connection }) => connection.readiness === "ready");
  await cluster.serveEverywhere(
    `${during}-${sharedNowMs()}`,
    serving.map(({ id }) => id),
    false,
  );
  const after = await wanderers.call("tunnels");
  for (const [index, { id, hubUrl, served, closeCode }] of after.entries()) {
    const isUnused = closeCode === undefined || served === before[index]?.served;
    must(isUnused, `${during}: ${id} was served at ${hubUrl}, where its tunnel is closed`);
  }
  const missing = open.find(({ id }) => !serving.some((each) => each.id === id));
  must(missing === undefined, `${during}: ${missing?.id} has a tunnel that no hub lists`);
}

/** 4001: another hub, or another tunnel, has the participant. 1000: it left. */
function isOrderly(closeCode: number): boolean {
  return closeCode === 4001 || closeCode === 1000;
}
