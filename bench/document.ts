/** `node … bench/document.ts RESULTS`: puts the table of a run into docs/performance.md, between its markers. */
import { readFile, writeFile } from "node:fs/promises";
import { renderMarkdown, renderSummary } from "./report/render.ts";
import { readResults, type Results } from "./report/results.ts";

const begin = "<!-- bench: begin -->";
const end = "<!-- bench: end -->";
const document = new URL("../docs/performance.md", import.meta.url);

const path = process.argv[2];
if (path === undefined) throw new Error("missing argument: bench/results/….json");
const text = await readFile(document, "utf8");
await writeFile(document, withTable(text, await readResults(path)));

/** @throws Error when the marks are not there */
function withTable(text: string, results: Results): string {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from === -1 || to < from) throw new Error(`no ${begin} … ${end} in the document`);
  const { machine, date } = results;
  const origin = `${date.slice(0, 10)}, ${machine.cpu}, Linux ${machine.kernel}: ${renderSummary(results).trim().replaceAll("\n", "; ")}.`;
  return `${text.slice(0, from + begin.length)}\n\n${renderMarkdown(results.rows)}\n\n${origin}\n\n${text.slice(to)}`;
}
