/** `node … bench/document.ts RESULTS`: puts the table of a run into docs/performance.md, between its markers. */
import { readFile, writeFile } from "node:fs/promises";
import { withMarkedText } from "./report/marked-text.ts";
import { renderMarkdown, renderSummary } from "./report/render.ts";
import { readResults, type Results } from "./report/results.ts";

const document = new URL("../docs/performance.md", import.meta.url);

const path = process.argv[2];
if (path === undefined) throw new Error("missing argument: bench/results/….json");
const text = await readFile(document, "utf8");
await writeFile(document, withMarkedText(text, "bench", tableOf(await readResults(path))));

function tableOf(results: Results): string {
  const { machine, date } = results;
  const origin = `${date.slice(0, 10)}, ${machine.cpu}, Linux ${machine.kernel}: ${renderSummary(results).trim().replaceAll("\n", "; ")}.`;
  return `${renderMarkdown(results.rows)}\n\n${origin}`;
}
