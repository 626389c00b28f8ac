/**
 * `npm run bench:beside -- CHECKOUT`: hub and participant of this checkout against those of another one whose packages are
 * installed, in turn on the same machine.
 *
 * `--quick` one round · `--only ROW,ROW`
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type RoomhubCommand, roomhubCommand, roomhubCommandOf } from "../tests/faults/child.ts";
import { clean, costUs } from "./figures/cost.ts";
import { nearOne } from "./figures/near-one.ts";
import { median } from "./figures/spread.ts";
import type { LoadResult } from "./load/load.ts";
import type { Target } from "./load/target.ts";
import { warmUp } from "./load/warm-up.ts";
import { rotated } from "./measurements/interleave.ts";
import {
  jsonAtOnce,
  type Load,
  oneAtATime,
  streamsAtPace,
  streamsFlatOut,
} from "./measurements/loads.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "./processes/hub.ts";
import { BenchWorld } from "./processes/world.ts";
import { renderSeen, renderTable } from "./report/render.ts";
import type { RowReport } from "./report/results.ts";

type Side = "here" | "there";

interface Comparison {
  id: string;
  title: string;
  load: (world: BenchWorld) => Load;
  /** What is compared, by name. */
  figures: Readonly<Record<string, (result: LoadResult) => number>>;
}

const comparisons: readonly Comparison[] = [
  {
    id: "1",
    title: "JSON, 128 at once: CPU per request",
    load: jsonAtOnce,
    figures: cpuPer("responses"),
  },
  {
    id: "3",
    title: "200 streams × 50/s: CPU per chunk",
    load: streamsAtPace,
    figures: cpuPer("tokens"),
  },
  {
    id: "4",
    title: "50 streams flat out: CPU per chunk",
    load: streamsFlatOut,
    figures: cpuPer("tokens"),
  },
  {
    id: "20",
    title: "JSON, one at a time: CPU per request, time",
    load: oneAtATime,
    figures: { ...cpuPer("responses"), p50: ({ wholeMs }) => wholeMs.p50 },
  },
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, only: { type: "string" } },
});
const [checkout] = positionals;
if (checkout === undefined) throw new Error("usage: npm run bench:beside -- CHECKOUT");
const commands: Record<Side, RoomhubCommand> = {
  here: roomhubCommand,
  there: roomhubCommandOf(resolve(checkout)),
};
const wanted = values.only?.split(",");
const chosen = comparisons.filter(({ id }) => wanted?.includes(id) ?? true);

/** By row; round by round, both sides in the same rounds. */
const results = new Map<string, Record<Side, LoadResult[]>>(
  chosen.map(({ id }) => [id, { here: [], there: [] }]),
);
// Processes that do the same differ for as long as they run: each pair is of processes of its own.
for (let pair = 0; pair < (values.quick ? 1 : 3); pair++) await measurePair(pair);
const rows = chosen.map(reportOf);
process.stdout.write(`${renderTable(rows)}\n${renderSeen(rows)}`);

async function measurePair(pair: number): Promise<void> {
  await using world = await BenchWorld.create(values.quick);
  const targets: Partial<Record<Side, Target>> = {};
  for (const side of rotated<Side>(["here", "there"], pair)) {
    targets[side] = await started(world, side);
  }
  for (const { id, load } of chosen) {
    for (let round = 0; round < world.either(8, 1); round++) {
      for (const side of rotated<Side>(["here", "there"], round)) {
        const target = targets[side];
        if (target === undefined) throw new Error(`${side} did not start`);
        results.get(id)?.[side].push(clean(side, await world.load({ ...load(world), target })));
      }
    }
  }
}

async function started(world: BenchWorld, side: Side): Promise<Target> {
  const roomhub = commands[side];
  const hub = await startHub(world, { roomhub });
  const room = await openRoom(hub);
  const wish = { count: 1, prefix: side, roomhub };
  const participant = await joinByTunnel(world, hub.url, room, wish);
  const target = hubTarget(side, hub, room, [sharedModel], participant);
  await warmUp(world, target, 8);
  return target;
}

function cpuPer(unit: "responses" | "tokens"): Comparison["figures"] {
  return {
    hub: (result) => costUs(result, unit),
    participant: (result) => costUs(result, unit, "participant"),
  };
}

function reportOf({ id, title, figures }: Comparison): RowReport {
  const { here = [], there = [] } = results.get(id) ?? {};
  const compared = Object.entries(figures).map(([name, read]) => {
    const [ours, theirs] = [here.map(read), there.map(read)];
    return {
      figures: nearOne(`${name}, here / there`, ours, theirs),
      seen: `${name}: here ${median(ours).toFixed(3)}, there ${median(theirs).toFixed(3)}, ${ours.length} rounds`,
    };
  });
  return {
    ...{ id, title, kind: "measured", seconds: 0 },
    figures: compared.flatMap((one) => one.figures),
    seen: compared.map(({ seen }) => seen),
  };
}
