import { costRatio, costsSeen } from "../figures/cost.ts";
import type { RequestShape } from "../load/target.ts";
import { interleave } from "../measurements/interleave.ts";
import { type BenchFigure, measured, type Row, skipped } from "../row.ts";

const mib = 1024 * 1024;
const loads: readonly { what: string; goal: number; shape: RequestShape }[] = [
  { what: "image of 10 MB", goal: 3, shape: { bodyBytes: 10 * mib, content: "image" } },
  {
    ...{ what: "response of 1 MB", goal: 2.5 },
    shape: { bodyBytes: 1_024, plain: { jsonBytes: mib } },
  },
  {
    ...{ what: "response of 10 MB", goal: 2.5 },
    shape: { bodyBytes: 1_024, plain: { jsonBytes: 10 * mib } },
  },
];

/** One at a time. */
export const largeMessages: Row = {
  id: "28",
  title: "an image of 10 MB in a request, responses of 1 and 10 MB: hub CPU against nginx",
  seconds: { full: 48, quick: 12 },
  async run(world) {
    const figures: BenchFigure[] = [];
    const seen: string[] = [];
    for (const { what, goal, shape } of loads) {
      const rounds = await interleave(world, ["nginx", "tunnel"], world.either(8, 2), {
        ...{ shape, connections: 1, rampMs: 0 },
        ...{ warmupMs: 200, windowMs: world.either(700, 500) },
      });
      const { nginx, tunnel = [] } = rounds;
      if (nginx === undefined) return skipped("nginx");
      const value = costRatio(tunnel, nginx, "responses");
      figures.push({ what: `${what}, hub / nginx`, value, goal, unit: "×" });
      seen.push(...costsSeen(rounds, "responses").map((line) => `${what}: ${line}`));
    }
    return measured(figures, seen);
  },
};
