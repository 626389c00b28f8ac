/**
 * `npm run test:faults`: plays faults against real processes and prints what held.
 *
 * `--quick` the short tier · `--only ID,ID` · `--soak --minutes N` · `--write FILE` the figures as JSON
 */
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { renderFigures, renderReport, summaryFigures } from "./render.ts";
import { type Report, runScenario } from "./run-scenario.ts";
import { scenarios } from "./scenarios/index.ts";
import { soakScenario } from "./soak.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    soak: { type: "boolean", default: false },
    minutes: { type: "string", default: "10" },
    write: { type: "string" },
  },
});

const wanted = values.only?.split(",");
const chosen = values.soak
  ? [soakScenario(Number(values.minutes))]
  : scenarios.filter(({ id, isQuick }) =>
      wanted === undefined ? isQuick || !values.quick : wanted.includes(id),
    );

const unknown = wanted?.filter((id) => !scenarios.some((scenario) => scenario.id === id)) ?? [];
if (unknown.length > 0) {
  const known = scenarios.map(({ id }) => id).join(", ");
  throw new Error(`no scenario ${unknown.join(", ")}; there are ${known}`);
}

const [loadBefore] = loadavg();
const reports: Report[] = [];
for (const scenario of chosen) {
  const report = await runScenario(scenario, values.quick);
  reports.push(report);
  process.stdout.write(renderReport(report));
}
const figures = [...summaryFigures(reports), ...reports.flatMap((report) => report.figures)];
process.stdout.write(renderFigures(figures));
// Times mean little on a machine that is busy with something else.
const loads = [loadBefore, loadavg()[0]].map((load) => load?.toFixed(1)).join(" and ");
process.stdout.write(`\n${availableParallelism()} cores, load average ${loads} before and after\n`);
if (values.write !== undefined) {
  writeFileSync(values.write, `${JSON.stringify({ figures }, undefined, 2)}\n`);
}
process.exitCode = reports.length === 0 || reports.some(({ kind }) => kind === "broken") ? 1 : 0;
