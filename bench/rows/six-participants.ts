import { costsSeen, ratioOf } from "../figures/cost.ts";
import { interleave } from "../measurements/interleave.ts";
import type { LoadResult } from "../load/load.ts";
import { measured, type Row, skipped } from "../row.ts";

/** How a small room is used: several machines, a few people. */
export const sixParticipants: Row = {
  id: "20b",
  title:
    "six participants, a process and a model server each, 4 requests at once: JSON rate against nginx",
  seconds: { full: 18, quick: 6 },
  async run(world) {
    const rounds = await interleave(world, ["nginx", "six participants"], world.either(8, 2), {
      ...{ shape: { bodyBytes: 1_024 }, connections: 4, rampMs: 0 },
      ...{ warmupMs: 150, windowMs: world.either(500, 400) },
    });
    const { nginx, "six participants": six = [] } = rounds;
    if (nginx === undefined) return skipped("nginx");
    const value = ratioOf(nginx.map(perSecond), six.map(perSecond));
    return measured(
      [{ what: "rate of nginx / of the hub", value, goal: 2.4, unit: "×" }],
      costsSeen(rounds, "responses"),
    );
  },
};

function perSecond({ responses, seconds }: LoadResult): number {
  return responses / seconds;
}
