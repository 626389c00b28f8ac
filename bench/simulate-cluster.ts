/**
 * `npm run bench:scale`: what a cluster of 3 to 1,000 hubs has to do, simulated from measured costs; first the points that
 * were measured, which it must reproduce within 15 %.
 *
 * `--measure` measures costs and points of the directory and the bus again, with real hubs and nats-server, in two minutes;
 * the others in the file stay as they are · `--points FILE`, `bench/scale/points.json` by default · `--table FILE` writes
 * the tables between the markers of a document
 */
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { measureDirectory } from "./scale/measure.ts";
import { type CostName, readPoints, valuesOf } from "./scale/points.ts";
import { comparePoints, costTable, deviationTable, forecastTable } from "./scale/tables.ts";
import { withMarkedText } from "./report/marked-text.ts";
import { alignedTable, markdownTable } from "./report/render.ts";

const { values } = parseArgs({
  options: {
    measure: { type: "boolean", default: false },
    points: { type: "string", default: "bench/scale/points.json" },
    table: { type: "string" },
  },
});

if (values.measure) {
  const points = await readPoints(values.points);
  const measured = await measureDirectory();
  for (const [name, value] of Object.entries(measured.costs))
    points.costs[name as CostName] = { value: Number(value.toPrecision(3)), source: "measured" };
  const names = new Set(measured.points.map(({ name }) => name));
  points.points = [...measured.points, ...points.points.filter(({ name }) => !names.has(name))];
  points.machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}`;
  await writeFile(values.points, `${JSON.stringify(points, undefined, 2)}\n`);
}

const points = await readPoints(values.points);
const costs = valuesOf(points);
const deviations = comparePoints(points, costs);
const missed = deviations.filter(({ isWithin }) => !isWithin);
const isTrusted = deviations.length > 0 && missed.length === 0;
const tables = {
  "bench:scale-points": deviationTable(deviations),
  "bench:scale-costs": costTable(points),
};
for (const table of Object.values(tables)) process.stdout.write(`${alignedTable(table)}\n`);
const refusal = `No forecast: ${missed.length} of ${deviations.length} measured figures are not reproduced within 15 %.`;
const forecasts = forecastTable(costs);
process.stdout.write(isTrusted ? alignedTable(forecasts) : `${refusal}\n`);

if (values.table !== undefined) {
  let document = await readFile(values.table, "utf8");
  for (const [name, table] of Object.entries(tables))
    document = withMarkedText(document, name, markdownTable(table));
  const text = isTrusted ? markdownTable(forecasts) : refusal;
  await writeFile(values.table, withMarkedText(document, "bench:scale-forecast", text));
}

// What was measured leaves sockets behind.
process.exit(isTrusted ? 0 : 1);
