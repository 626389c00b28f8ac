import { addedMs } from "../cost.ts";
import { interleave } from "../interleave.ts";
import { measured, type Row } from "../row.ts";

export const oneAtATime: Row = {
  id: "7",
  title: "one request at a time: added latency, against direct",
  seconds: { full: 8, quick: 2 },
  async run(world) {
    const { direct = [], tunnel = [] } = await interleave(
      world,
      ["direct", "tunnel"],
      world.either(3, 1),
      {
        ask: { bodyBytes: 1_024 },
        connections: 1,
        rampMs: 0,
        warmupMs: 200,
        windowMs: world.either(1_000, 500),
      },
    );
    const value = addedMs(tunnel, direct, ({ wholeMs }) => wholeMs.p50);
    return measured([{ what: "p50", value, goal: 0.35, unit: "ms" }]);
  },
};
