import { addedMs } from "../../figures/cost.ts";
import { pacedStreams } from "../../measurements/paced-streams.ts";
import { measured, type Row } from "../../row.ts";

export const interTokenDelay: Row = {
  id: "6",
  title: "added inter-token delay at 200 paced streams, against direct",
  seconds: { full: 0, quick: 0 },
  measurement: pacedStreams,
  async run(world) {
    const { direct = [], tunnel = [] } = await pacedStreams.of(world);
    const value = addedMs(tunnel, direct, ({ gapMs }) => gapMs.p99);
    return measured([{ what: "p99", value, goal: 3, unit: "ms" }]);
  },
};
