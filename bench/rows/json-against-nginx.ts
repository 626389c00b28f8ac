import { costRatio, costsSeen } from "../figures/cost.ts";
import { jsonLoad } from "../measurements/json-load.ts";
import { measured, type Row, skipped } from "../row.ts";

export const jsonAgainstNginx: Row = {
  id: "1",
  title: "hub CPU per JSON request, 128 concurrent, against nginx",
  seconds: { full: 0, quick: 0 },
  measurement: jsonLoad,
  async run(world) {
    const rounds = await jsonLoad.of(world);
    const { tunnel = [], nginx } = rounds;
    if (nginx === undefined) return skipped("nginx");
    const value = costRatio(tunnel, nginx, "responses");
    const seen = costsSeen(rounds, "responses");
    return measured([{ what: "tunnel path / nginx", value, goal: 2.2, unit: "×" }], seen);
  },
};
