import { costRatio, costsSeen } from "../figures/cost.ts";
import { interleave } from "../measurements/interleave.ts";
import { streamsFlatOut } from "../measurements/loads.ts";
import { measured, type Row, skipped } from "../row.ts";

export const flatOutStreams: Row = {
  id: "4",
  title: "hub CPU per streamed chunk, 50 streams flat out, against nginx",
  seconds: { full: 15, quick: 3 },
  async run(world) {
    const rounds = await interleave(
      world,
      world.either(["nginx", "tunnel", "haproxy"] as const, ["nginx", "tunnel"] as const),
      world.either(3, 1),
      streamsFlatOut(world),
    );
    const { tunnel = [], nginx } = rounds;
    if (nginx === undefined) return skipped("nginx");
    const value = costRatio(tunnel, nginx, "tokens");
    const seen = costsSeen(rounds, "tokens");
    return measured([{ what: "tunnel path / nginx", value, goal: 0.8, unit: "×" }], seen);
  },
};
