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
    const { tunnel = [], "hundred tunnels": hundred = [], nginx } = rounds;
    if (nginx === undefined) return skipped("nginx");
    const one = costRatio(tunnel, nginx, "responses");
    const many = costRatio(hundred, nginx, "responses");
    return measured(
      [
        { what: "tunnel path / nginx", value: one, goal: 2.2, unit: "×" },
        { what: "100 tunnels / nginx", value: many, goal: 2.8, unit: "×" },
      ],
      costsSeen(rounds, "responses"),
    );
  },
};
