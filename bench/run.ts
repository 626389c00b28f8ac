/**
 * `npm run bench`: measures every goal of docs/performance.md and prints one table of them.
 *
 * `--quick` under a minute, too short to rely on · `--only ROW,ROW` · `--against FILE` compares with an earlier run ·
 * `--write FILE` instead of bench/results/<date>.json
 */
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { within } from "../tests/support/waiting.ts";
import { type PlannedRow, planOf } from "./plan.ts";
import { Progress } from "./report/progress.ts";
import {
  renderComparison,
  renderSeen,
  renderSummary,
  renderTable,
  verdictOf,
} from "./report/render.ts";
import {
  compare,
  loadAverage,
  machineFacts,
  readResults,
  type Results,
  type RowReport,
  writeResults,
} from "./report/results.ts";
import type { Row } from "./row.ts";
import { rows } from "./rows/index.ts";
import { BenchWorld } from "./processes/world.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    against: { type: "string" },
    write: { type: "string" },
  },
});

const wanted = values.only?.split(",");
const unknown = wanted?.filter((id) => !rows.some((row) => row.id === id)) ?? [];
if (unknown.length > 0) {
  throw new Error(`no row ${unknown.join(", ")}; there are ${rows.map(({ id }) => id).join(", ")}`);
}
const chosen = rows.filter(({ id }) => wanted?.includes(id) ?? true);
// Read first: a mistyped name must not cost a whole run.
const earlier = values.against === undefined ? undefined : await readResults(values.against);

const results = await measure(chosen, values.quick);
process.stdout.write(
  `${renderTable(results.rows)}\n${renderSeen(results.rows)}\n${renderSummary(results)}`,
);
const path = values.write ?? resultsPath(results);
await writeResults(path, results);
process.stdout.write(`written to ${relative(process.cwd(), path)}\n`);

let hasRegressed = false;
if (earlier !== undefined) {
  const comparisons = compare(earlier, results);
  hasRegressed = comparisons.some(({ isRegression }) => isRegression);
  process.stdout.write(`\nAgainst ${values.against}:\n${renderComparison(comparisons)}`);
}
const isBroken = results.rows.some((row) => verdictOf(row) === "broken");
process.exitCode = isBroken || hasRegressed ? 1 : 0;

async function measure(chosen: readonly Row[], isQuick: boolean): Promise<Results> {
  const loadBefore = loadAverage();
  if (loadBefore > 1) {
    process.stderr.write(
      `The machine is busy (load average ${loadBefore.toFixed(1)}): figures will mean little.\n`,
    );
  }
  const startMs = performance.now();
  const reports: RowReport[] = [];
  await using world = await BenchWorld.create(isQuick);
  const plan = planOf(chosen, isQuick);
  const progress = new Progress(plan, process.stderr);
  for (const planned of plan) {
    progress.begin(planned);
    reports.push(await reportOf(planned, world));
  }
  progress.end();
  return {
    date: new Date().toISOString(),
    isQuick,
    machine: machineFacts(),
    loadAverage: [loadBefore, loadAverage()],
    seconds: (performance.now() - startMs) / 1_000,
    rows: reports,
  };
}

/** Never throws: a row that fails does not prevent the others from being measured. */
async function reportOf({ row, seconds }: PlannedRow, world: BenchWorld): Promise<RowReport> {
  const startMs = performance.now();
  const { id, title } = row;
  const secondsSince = () => Math.round((performance.now() - startMs) / 100) / 10;
  try {
    const longestMs = 4_000 * seconds + 60_000;
    const outcome = await within(row.run(world), `row ${id} to be measured`, longestMs);
    return { id, title, seconds: secondsSince(), ...outcome };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { id, title, seconds: secondsSince(), kind: "broken", why };
  }
}

function resultsPath({ date, isQuick }: Results): string {
  const folder = fileURLToPath(new URL("results/", import.meta.url));
  const name = date.slice(0, 19).replace("T", "-").replaceAll(":", "");
  return join(folder, `${name}${isQuick ? "-quick" : ""}.json`);
}
