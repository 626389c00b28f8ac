import { costRatio } from "../figures/cost.ts";
import { jsonLoad } from "../measurements/json-load.ts";
import { measured, type Row, skipped } from "../row.ts";

export const directPath: Row = {
  id: "14",
  title: "direct path: hub CPU per JSON request, 128 concurrent, against nginx",
  seconds: { full: 0, quick: 0 },
  measurement: jsonLoad,
  async run(world) {
    const { "direct path": direct = [], nginx } = await jsonLoad.of(world);
    if (nginx === undefined) return skipped("nginx");
    const value = costRatio(direct, nginx, "responses");
    return measured([{ what: "direct path / nginx", value, goal: 4, unit: "×" }]);
  },
};
