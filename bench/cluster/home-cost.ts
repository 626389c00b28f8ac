import type { SubscriberHandlers } from "../../tests/faults/programs/subscribers.ts";
import { clean, costUs } from "../figures/cost.ts";
import { nearOne } from "../figures/near-one.ts";
import { median } from "../figures/spread.ts";
import type { LoadResult } from "../load/load.ts";
import { warmUp } from "../load/warm-up.ts";
import { rotated } from "../measurements/interleave.ts";
import { hubTarget, joinByTunnel, manyAtOnce, openRoom, startHub } from "../processes/hub.ts";
import { BenchWorld } from "../processes/world.ts";
import { startBenchCluster } from "./cluster-world.ts";
import type { ClusterMeasurement } from "./hop.ts";

type Side = "home" | "alone";
/** Round by round, both sides in the same rounds. */
type Rounds = Record<Side, LoadResult[]>;

/** Processes that do the same differ for as long as they run: each pair is of processes of its own. */
const pairs = 3;

/** A hub whose room has clients of its own alone, of a cluster and without one. */
export const homeAgainstAlone: ClusterMeasurement = {
  title:
    "a request at its room's home: CPU of that hub per JSON request, 128 at once, against a hub alone",
  measure: async (world) => outcomeOf((await measuredOnce(world)).plain),
};

/** The same while someone watches the room: at another hub, and at the one that is alone. */
export const watchedHomeAgainstAlone: ClusterMeasurement = {
  title: "the same with a watcher of the room at another hub, against a hub alone with a watcher",
  measure: async (world) => outcomeOf((await measuredOnce(world)).watched),
};

function measuredOnce(world: BenchWorld): Promise<{ plain: Rounds; watched: Rounds }> {
  return world.once("homes and hubs alone", async () => {
    const all = { plain: emptyRounds(), watched: emptyRounds() };
    for (let pair = 0; pair < world.either(pairs, 1); pair++) {
      await using own = await BenchWorld.create(world.isQuick);
      await measurePair(own, all);
    }
    return all;
  });
}

function emptyRounds(): Rounds {
  return { home: [], alone: [] };
}

async function measurePair(
  world: BenchWorld,
  { plain, watched }: { plain: Rounds; watched: Rounds },
): Promise<void> {
  const { owner, entry, room, targets } = await startBenchCluster(world);
  const hub = await startHub(world);
  const ownRoom = await openRoom(hub);
  const participant = await joinByTunnel(world, hub.url, ownRoom, {
    ...{ count: 1, prefix: "p", maxConcurrency: manyAtOnce, isQuiet: true },
  });
  const alone = hubTarget("alone", hub, ownRoom, ["p-0"], participant);
  await warmUp(world, alone, 6);
  const load = async (rounds: Rounds) => {
    for (let round = 0; round < world.either(8, 1); round++) {
      for (const side of rotated<Side>(["home", "alone"], round)) {
        const result = await world.load({
          ...{ target: side === "home" ? targets.owner : alone, shape: { bodyBytes: 1_024 } },
          ...{ connections: 128, rampMs: 60, warmupMs: 300, windowMs: world.either(1_000, 500) },
        });
        rounds[side].push(clean(side, result));
      }
    }
  };
  await load(plain);
  const watchers = await world.children.program<SubscriberHandlers>("subscribers");
  for (const [{ port }, code] of [
    [entry, room],
    [hub, ownRoom],
  ] as const) {
    const path = `/v1/rooms/${code}/events`;
    await watchers.call("open", { port, path, count: 1, isStalled: false });
  }
  await load(watched);
  const { closed, withEvents } = await watchers.call("seen");
  if (closed > 0 || withEvents < 2) throw new Error("a watcher of the room fell behind");
  await Promise.all([watchers, owner.child, entry.child, hub.child].map((one) => one.kill()));
}

function outcomeOf({ home, alone }: Rounds): Awaited<ReturnType<ClusterMeasurement["measure"]>> {
  const costs = (results: readonly LoadResult[]) =>
    results.map((result) => costUs(result, "responses"));
  const [ofHome, ofAlone] = [costs(home), costs(alone)];
  return {
    figures: nearOne("home / alone", ofHome, ofAlone),
    seen: [
      `home ${median(ofHome).toFixed(1)} µs, alone ${median(ofAlone).toFixed(1)} µs, ${home.length} rounds`,
    ],
  };
}
