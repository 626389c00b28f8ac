import { costRatio, costsSeen } from "../figures/cost.ts";
import { pacedStreams } from "../measurements/paced-streams.ts";
import { measured, type Row, skipped } from "../row.ts";

export const pacedStreamCost: Row = {
  id: "3",
  title: "hub CPU per streamed chunk, 200 streams × 50/s, against nginx",
  seconds: { full: 0, quick: 0 },
  measurement: pacedStreams,
  async run(world) {
    const rounds = await pacedStreams.of(world);
    const { nginx, tunnel = [], "hundred tunnels": hundred = [] } = rounds;
    if (nginx === undefined) return skipped("nginx");
    const one = costRatio(tunnel, nginx, "tokens");
    const many = costRatio(hundred, nginx, "tokens");
    return measured(
      [
        { what: "1 tunnel / nginx", value: one, goal: 1.3, unit: "×" },
        { what: "100 tunnels / nginx", value: many, goal: 1.6, unit: "×" },
      ],
      costsSeen(rounds, "tokens"),
    );
  },
};
