/**
 * `npm run bench:room`: what placement makes of a room's machines, simulated, against other ways to choose.
 *
 * `--seeds N` runs per variant, 20 by default · `--table FILE` also writes the tables between the markers of a document
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { withMarkedText } from "../report/marked-text.ts";
import { alignedTable, markdownTable, renderMarkdown, renderTable } from "../report/render.ts";
import { runVariant } from "./comparison.ts";
import { goalsOf } from "./goals.ts";
import { policyTable } from "./tables.ts";
import { variants } from "./variants.ts";

const { values } = parseArgs({
  options: { seeds: { type: "string", default: "20" }, table: { type: "string" } },
});

const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => index + 1);
const results = variants.map((variant) => runVariant(variant, seeds));
const goals = results.map(goalsOf);
const policies = policyTable(results);
process.stdout.write(`${alignedTable(policies)}\n${renderTable(goals)}`);

if (values.table !== undefined) {
  const text = await readFile(values.table, "utf8");
  const tables = `${markdownTable(policies)}\n\n${renderMarkdown(goals)}`;
  await writeFile(values.table, withMarkedText(text, "bench:room", tables));
}
