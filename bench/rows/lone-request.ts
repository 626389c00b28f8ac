import { costRatio, costsSeen, ratioOf } from "../figures/cost.ts";
import type { LoadResult } from "../load/load.ts";
import { loneJson } from "../measurements/lone-json.ts";
import { measured, type Row, skipped } from "../row.ts";
import { median } from "../figures/spread.ts";

/** One request at a time: each wakes every process on its path. */
export const loneRequest: Row = {
  id: "20",
  title: "one request at a time, against nginx: CPU of hub and participant, p50",
  seconds: { full: 0, quick: 0 },
  measurement: loneJson,
  async run(world) {
    const rounds = await loneJson.of(world);
    const { tunnel = [], nginx } = rounds;
    if (nginx === undefined) return skipped("nginx");
    const [p50s, p50sOfNginx] = [tunnel.map(p50Of), nginx.map(p50Of)];
    const hubValue = costRatio(tunnel, nginx, "responses");
    return measured(
      [
        { what: "hub / nginx", value: hubValue, goal: 2.8, unit: "×" },
        {
          ...{ what: "participant / nginx", goal: 2.8, unit: "×" },
          value: costRatio(tunnel, nginx, "responses", "participant"),
        },
        { what: "p50 / nginx", value: ratioOf(p50s, p50sOfNginx), goal: 2.5, unit: "×" },
      ],
      [
        ...costsSeen(rounds, "responses"),
        `p50: ${median(p50s).toFixed(3)} ms, of nginx ${median(p50sOfNginx).toFixed(3)} ms`,
      ],
    );
  },
};

function p50Of({ wholeMs }: LoadResult): number {
  return wholeMs.p50;
}
