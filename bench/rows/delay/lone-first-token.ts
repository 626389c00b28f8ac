import { addedMs } from "../../figures/cost.ts";
import type { LoadResult } from "../../load/load.ts";
import { interleave } from "../../measurements/interleave.ts";
import { measured, type Row, skipped } from "../../row.ts";

export const loneFirstToken: Row = {
  id: "31",
  title: "one stream at a time: what is added to the first token, against what nginx adds",
  seconds: { full: 40, quick: 6 },
  async run(world) {
    const {
      direct = [],
      nginx,
      tunnel = [],
    } = await interleave(world, ["direct", "nginx", "tunnel"], world.either(10, 2), {
      ...{ shape: { bodyBytes: 1_024, plain: { pieces: 3, delayMs: 0 } }, connections: 1 },
      ...{ rampMs: 0, warmupMs: 200, windowMs: world.either(1_000, 500) },
    });
    if (nginx === undefined) return skipped("nginx");
    const added = (results: readonly LoadResult[], share: "p50" | "p99") =>
      addedMs(results, direct, ({ firstByteMs }) => firstByteMs[share]);
    return measured(
      [
        {
          ...{ what: "p99, added by the hub / added by nginx", goal: 2.5, unit: "×" },
          value: added(tunnel, "p99") / added(nginx, "p99"),
        },
      ],
      (["p50", "p99"] as const).map(
        (share) =>
          `${share}: ${added(tunnel, share).toFixed(3)} ms added, by nginx ${added(nginx, share).toFixed(3)} ms`,
      ),
    );
  },
};
