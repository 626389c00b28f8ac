import { readFile, rm } from "node:fs/promises";
import { until } from "../../../tests/support/waiting.ts";
import { hubTarget, joinByTunnel, openRoom, sharedModel, startHub } from "../../processes/hub.ts";
import { clean } from "../../figures/cost.ts";
import { rotated } from "../../measurements/interleave.ts";
import { measured, type Row } from "../../row.ts";
import { median } from "../../figures/spread.ts";
import type { LoopBlocks } from "../../programs/loop-probe.ts";
import type { BenchWorld } from "../../processes/world.ts";

const small = 1_024;
const sizes = [
  { bytes: small, windowMs: 300 },
  { bytes: 512 * 1024, windowMs: 500 },
  { bytes: 4 * 1024 * 1024, windowMs: 700 },
  { bytes: 32 * 1024 * 1024, windowMs: 2_500 },
];

interface Seen extends LoopBlocks {
  bytes: number;
  wholeMs: number;
}

/** One body at a time, so that the figures are those of a single one. */
export const largeBodies: Row = {
  id: "11",
  title: "a body of 512 KB / 4 MB / 32 MB against one of 1 KB",
  seconds: { full: 17, quick: 7 },
  async run(world) {
    const seen: Seen[] = [];
    const { target, takeBlocks } = await startWatchedHub(world);
    for (let round = 0; round < world.either(3, 1); round++) {
      for (const { bytes, windowMs } of rotated(sizes, round)) {
        await takeBlocks();
        const result = await world.load({
          ...{ target, shape: { bodyBytes: bytes }, connections: 1 },
          ...{ rampMs: 0, warmupMs: windowMs / 4, windowMs },
        });
        const wholeMs = clean(`a body of ${bytes} bytes`, result).wholeMs.p50;
        seen.push({ bytes, wholeMs, ...(await takeBlocks()) });
      }
    }
    const of = (bytes: number, read: (one: Seen) => number) =>
      median(seen.filter((one) => one.bytes === bytes).map(read));
    const added = (bytes: number) => of(bytes, wholeMsOf) - of(small, wholeMsOf);
    const [, half = 0, four = 0, large = 0] = sizes.map(({ bytes }) => bytes);
    return measured(
      [
        { what: "512 KB, added p50", value: added(half), goal: 4, unit: "ms" },
        { what: "4 MB, added p50", value: added(four), goal: 20, unit: "ms" },
        { what: "32 MB, added p50", value: added(large), goal: 150, unit: "ms" },
        { what: "32 MB, longest block", value: of(large, ownMsOf), goal: 5, unit: "ms" },
      ],
      [small, large].map((bytes) => {
        const [own, wall] = [of(bytes, ownMsOf), of(bytes, wallMsOf)].map((ms) => ms.toFixed(1));
        return `longest block with bodies of ${bytes / 1024} KB: ${own} ms; ${wall} ms with the time waited for a core`;
      }),
    );
  },
};

function wholeMsOf({ wholeMs }: Seen): number {
  return wholeMs;
}

function ownMsOf({ ownMs }: Seen): number {
  return ownMs;
}

function wallMsOf({ wallMs }: Seen): number {
  return wallMs;
}

async function startWatchedHub(world: BenchWorld) {
  const path = world.newPath("loop");
  const probe = new URL("../../programs/loop-probe.ts", import.meta.url).href;
  const hub = await startHub(world, {
    env: { BENCH_LOOP_FILE: path },
    nodeOptions: `--import=${probe}`,
  });
  const room = await openRoom(hub);
  await joinByTunnel(world, hub.url, room, { count: 1, prefix: "one" });
  return {
    target: hubTarget("tunnel", hub, room, [sharedModel]),
    /** since the last reading */
    takeBlocks: async (): Promise<LoopBlocks> => {
      await rm(path, { force: true });
      hub.child.signal("SIGUSR2");
      const read = () => readFile(path, "utf8").catch(() => "");
      const text = await until("the hub to report its longest block", read, (text) => text !== "");
      return JSON.parse(text) as LoopBlocks;
    },
  };
}
