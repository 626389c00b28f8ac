import { costRatio } from "../figures/cost.ts";
import { jsonLoad } from "../measurements/json-load.ts";
import { measured, type Row } from "../row.ts";

export const jsonAgainstGateway: Row = {
  id: "2",
  title: "the same against an LLM gateway from npm",
  seconds: { full: 0, quick: 0 },
  measurement: jsonLoad,
  async run(world) {
    const { tunnel = [], gateway } = await jsonLoad.of(world);
    if (gateway === undefined) return { kind: "skipped", why: "npm run bench:peers installs it" };
    const value = costRatio(tunnel, gateway, "responses");
    return measured([{ what: "tunnel path / npm gateway", value, goal: 1 / 8, unit: "×" }]);
  },
};
