import { addedMs } from "../../figures/cost.ts";
import { loneJson } from "../../measurements/lone-json.ts";
import { measured, type Row } from "../../row.ts";

export const oneAtATime: Row = {
  id: "7",
  title: "one request at a time: added latency, against direct",
  seconds: { full: 0, quick: 0 },
  measurement: loneJson,
  async run(world) {
    const { direct = [], tunnel = [] } = await loneJson.of(world);
    const value = addedMs(tunnel, direct, ({ wholeMs }) => wholeMs.p50);
    return measured([{ what: "p50", value, goal: 0.35, unit: "ms" }]);
  },
};
