import { median } from "../figures/spread.ts";
import { policyNames, type VariantRuns } from "./comparison.ts";
import type { RoomFigures } from "./figures.ts";

const lines: { what: string; text: (of: (key: keyof RoomFigures) => number) => string }[] = [
  { what: "makespan", text: (of) => `${(of("makespanMs") / 1_000).toFixed(0)} s` },
  { what: "first token, p50", text: (of) => `${(of("firstP50Ms") / 1_000).toFixed(1)} s` },
  { what: "first token, p95", text: (of) => `${(of("firstP95Ms") / 1_000).toFixed(1)} s` },
  { what: "warm", text: (of) => `${(of("warmShare") * 100).toFixed(0)} %` },
];

/** Every policy's figures, medians over the runs: cells of a table, its header first. */
export function policyTable(results: readonly VariantRuns[]): string[][] {
  const rows = results.flatMap(({ variant, runs }) =>
    lines.map(({ what, text }, index) => [
      index === 0 ? variant.name : "",
      what,
      ...policyNames.map((name) =>
        text((key) => median(runs.map(({ figures }) => figures[name][key]))),
      ),
    ]),
  );
  return [["Room", "Figure", ...policyNames], ...rows];
}
