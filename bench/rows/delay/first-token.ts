import { addedMs } from "../../figures/cost.ts";
import { pacedStreams } from "../../measurements/paced-streams.ts";
import { measured, type Row } from "../../row.ts";

export const firstToken: Row = {
  id: "5",
  title: "added time to first token at 200 paced streams, against direct",
  seconds: { full: 0, quick: 0 },
  measurement: pacedStreams,
  async run(world) {
    const { direct = [], tunnel = [] } = await pacedStreams.of(world);
    const p50 = addedMs(tunnel, direct, ({ firstByteMs }) => firstByteMs.p50);
    const p99 = addedMs(tunnel, direct, ({ firstByteMs }) => firstByteMs.p99);
    return measured([
      { what: "p50", value: p50, goal: 3, unit: "ms" },
      { what: "p99", value: p99, goal: 8, unit: "ms" },
    ]);
  },
};
