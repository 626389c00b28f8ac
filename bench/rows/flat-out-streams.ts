import { costRatio, costsSeen } from "../figures/cost.ts";
import { interleave } from "../measurements/interleave.ts";
import { measured, type Row, skipped } from "../row.ts";

/** The provider writes one token per turn of its event loop and stream, as fast as they are taken. */
export const flatOutStreams: Row = {
  id: "4",
  title: "hub CPU per streamed chunk, 50 streams flat out, against nginx",
  seconds: { full: 15, quick: 3 },
  async run(world) {
    const rounds = await interleave(
      world,
      world.either(["nginx", "tunnel", "haproxy"] as const, ["nginx", "tunnel"] as const),
      world.either(3, 1),
      {
        shape: { bodyBytes: 1_024, plain: { pieces: 2_000, delayMs: 0 } },
        connections: 50,
        rampMs: 100,
        warmupMs: world.either(300, 200),
        windowMs: world.either(1_200, 600),
      },
    );
    const { tunnel = [], nginx } = rounds;
    if (nginx === undefined) return skipped("nginx");
    const value = costRatio(tunnel, nginx, "tokens");
    const seen = costsSeen(rounds, "tokens");
    return measured([{ what: "tunnel path / nginx", value, goal: 0.8, unit: "×" }], seen);
  },
};
