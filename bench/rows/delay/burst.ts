import { ratioOf } from "../../figures/cost.ts";
import { median } from "../../figures/spread.ts";
import type { LoadResult } from "../../load/load.ts";
import { interleave } from "../../measurements/interleave.ts";
import { measured, type Row, skipped } from "../../row.ts";

/** A class that presses Enter together. */
export const burst: Row = {
  id: "29",
  title: "200 streams requested within 1 ms: time to first token, against nginx",
  seconds: { full: 40, quick: 6 },
  async run(world) {
    const { nginx, tunnel = [] } = await interleave(
      world,
      ["nginx", "tunnel"],
      world.either(20, 3),
      {
        ...{ shape: { bodyBytes: 1_024, plain: { pieces: 20, delayMs: 20 } }, connections: 200 },
        ...{ rampMs: 100, warmupMs: 100, windowMs: 0, isBurst: true },
      },
    );
    if (nginx === undefined) return skipped("nginx");
    const figures = (["p50", "p99"] as const).map((share) => {
      const of = (results: readonly LoadResult[]) =>
        results.map(({ firstByteMs }) => firstByteMs[share]);
      return { share, value: ratioOf(of(tunnel), of(nginx)), of };
    });
    return measured(
      figures.map(({ share, value }) => ({
        ...{ what: `${share}, hub / nginx`, value, goal: 2.5, unit: "×" as const },
      })),
      figures.map(({ share, of }) => {
        const [ours, theirs] = [tunnel, nginx].map((results) => median(of(results)).toFixed(1));
        return `${share}: ${ours} ms, of nginx ${theirs} ms`;
      }),
    );
  },
};
