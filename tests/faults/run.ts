/**
 * `npm run test:faults`: injects faults into real processes and prints the results.
 *
 * `--quick` the short tier · `--only ID,ID` · `--soak --minutes N` · `--write FILE` the result as JSON · `--table FILE` the
 * result of a full run as tables between two marks of a document · `--note TEXT` goes with them · `--read FILE` runs
 * nothing and uses an earlier result
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { fillCompileCache } from "./compile-cache.ts";
import { renderFigures, renderMachine, renderReport } from "./render.ts";
import { createRunResult, loadNow, type RunResult } from "./run-result.ts";
import { type Report, runScenario } from "./run-scenario.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios/index.ts";
import { soakScenario } from "./soak.ts";
import { withTable } from "./table.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    soak: { type: "boolean", default: false },
    minutes: { type: "string", default: "10" },
    write: { type: "string" },
    table: { type: "string" },
    read: { type: "string" },
    note: { type: "string" },
  },
});

/** Worlds that wait most of their time share two cores well; the full run measures, and has the machine to itself. */
const worldsAtOnce = values.quick ? 2 : 1;

if (values.table !== undefined && (values.quick || values.only !== undefined || values.soak)) {
  throw new Error("--table takes a full run: leave out --quick, --only and --soak");
}
const result = values.read === undefined ? await playChosen() : readResult(values.read);
process.stdout.write(renderFigures(result.figures));
process.stdout.write(renderMachine(result.machine));
if (values.write !== undefined) {
  writeFileSync(values.write, `${JSON.stringify(result, undefined, 2)}\n`);
}
if (values.table !== undefined) {
  writeFileSync(values.table, withTable(readFileSync(values.table, "utf8"), result));
}
const isBroken = result.scenarios.some(({ kind }) => kind === "broken");
process.exitCode = isBroken || result.scenarios.length === 0 ? 1 : 0;

async function playChosen(): Promise<RunResult> {
  const loadBefore = loadNow();
  if (values.quick) fillCompileCache();
  const waiting = chosen();
  const reports: Report[] = [];
  async function playInTurn(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const report = await runScenario(next, values.quick);
      reports.push(report);
      process.stdout.write(renderReport(report));
    }
  }
  await Promise.all(Array.from({ length: worldsAtOnce }, playInTurn));
  return createRunResult(reports, loadBefore, values.note);
}

function chosen(): Scenario[] {
  if (values.soak) return [soakScenario(Number(values.minutes))];
  const wanted = values.only?.split(",");
  const unknown = wanted?.filter((id) => !scenarios.some((scenario) => scenario.id === id)) ?? [];
  if (unknown.length > 0) {
    const known = scenarios.map(({ id }) => id).join(", ");
    throw new Error(`no scenario ${unknown.join(", ")}; there are ${known}`);
  }
  return scenarios.filter(({ id, isQuick }) =>
    wanted === undefined ? isQuick || !values.quick : wanted.includes(id),
  );
}

function readResult(path: string): RunResult {
  return JSON.parse(readFileSync(path, "utf8")) as RunResult;
}
