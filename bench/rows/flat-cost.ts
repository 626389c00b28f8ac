import {
  type BenchHub,
  hubTarget,
  joinByTunnel,
  joinDirectly,
  openRoom,
  sharedModel,
  startHub,
} from "../processes/hub.ts";
import { inParallel } from "../load/in-parallel.ts";
import { clean, costRatio, costUs } from "../figures/cost.ts";
import { rotated } from "../measurements/interleave.ts";
import type { LoadResult } from "../load/load.ts";
import { measured, type Row } from "../row.ts";
import { median } from "../figures/spread.ts";
import type { Target } from "../load/target.ts";
import type { BenchWorld } from "../processes/world.ts";
import { warmUp } from "../load/warm-up.ts";

interface Member {
  room: string;
  id: string;
}

/** A hub of some size. The requests are the same in all sizes: to one room, served through one tunnel. */
interface SizedHub {
  what: string;
  hub: BenchHub;
  target: Target;
  /** all but the one that serves: they must send heartbeats */
  others: Member[];
  results: LoadResult[];
}

/** Idle participants must not make requests dearer: neither their rooms nor their serving of the same model. */
export const flatCost: Row = {
  id: "12",
  title: "cost per JSON request with 1–1,000 rooms of 10; with 1 or 1,000 serving the model",
  seconds: { full: 50, quick: 12 },
  async run(world) {
    const roomCounts = world.either([1, 10, 100, 1_000], [1, 10, 100]);
    const serving = world.either([1, 1_000], [1, 200]);
    const byRooms = await Promise.all(roomCounts.map((rooms) => startSized(world, rooms, 10)));
    const byServing = await Promise.all(serving.map((count) => startSized(world, 1, count)));
    const all = [...byRooms, ...byServing];
    for (const { target } of all) await warmUp(world, target);
    for (let round = 0; round < world.either(9, 2); round++) {
      if (round % 3 === 0) for (const sized of all) await beat(sized);
      for (const sized of rotated(all, round)) sized.results.push(await load(world, sized));
    }
    await Promise.all(all.map(({ hub }) => hub.child.kill()));
    return measured(
      [
        { what: "rooms, the dearest / 1", value: dearest(byRooms), goal: 1.1, unit: "×" },
        { what: `${serving[1]} / 1 serving`, value: dearest(byServing), goal: 1.1, unit: "×" },
      ],
      all.map(({ what, results }) => {
        const cost = median(results.map((result) => costUs(result, "responses")));
        return `${what}: ${cost.toFixed(1)} µs`;
      }),
    );
  },
};

function dearest([smallest, ...larger]: readonly SizedHub[]): number {
  return Math.max(
    ...larger.map(({ results }) => costRatio(results, smallest?.results ?? [], "responses")),
  );
}

async function load(world: BenchWorld, { what, target }: SizedHub): Promise<LoadResult> {
  const result = await world.load({
    ...{ target, shape: { bodyBytes: 1_024 }, connections: 64 },
    ...{ rampMs: 30, warmupMs: 120, windowMs: world.either(450, 300) },
  });
  return clean(what, result);
}

/** @param perRoom - all of whom serve the same model; the first has a tunnel, the hub would call the others itself */
async function startSized(
  world: BenchWorld,
  roomCount: number,
  perRoom: number,
): Promise<SizedHub> {
  const hub = await startHub(world, {
    limits: {
      ...{ rooms: 2_000, roomCreationBurst: 2_000 },
      ...{ participantsPerHub: 20_000, participantsPerRoom: 2_000 },
    },
  });
  const provider = await world.provider();
  const first = await openRoom(hub);
  await joinByTunnel(world, hub.url, first, { count: 1, prefix: "serving" });
  const others: Member[] = membersOf(first, perRoom - 1);
  await inParallel(Array.from({ length: roomCount - 1 }), 8, async () => {
    others.push(...membersOf(await openRoom(hub), perRoom));
  });
  await inParallel(others, 16, ({ room, id }) => joinDirectly(hub, room, id, provider.url));
  const what = `${roomCount} rooms of ${perRoom}`;
  const target = hubTarget(what, hub, first, [`model:${sharedModel}`]);
  return { what, hub, target, others, results: [] };
}

function membersOf(room: string, count: number): Member[] {
  return Array.from({ length: count }, (_, index) => ({ room, id: `other-${index}` }));
}

/** They are online all along, as in a hub that is in use. */
async function beat({ hub, others }: SizedHub): Promise<void> {
  await inParallel(others, 16, ({ room, id }) => hub.api.heartbeat(room, id));
}
