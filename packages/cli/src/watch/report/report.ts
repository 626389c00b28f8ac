import { Option } from "commander";
import type { CliContext } from "../../context.ts";
import { explained } from "../../exit-code.ts";
import { type RoomhubCommand } from "../../options.ts";
import { type Report, ReportSums } from "./report-sums.ts";
import { formatTable, safe, writeJson } from "../../terminal/text.ts";
import { usageJson } from "./usage-sums.ts";
import { reportRemarks, reportSummary, type ReportTable, reportTables } from "./report-tables.ts";

interface ReportOptionValues {
  json?: boolean;
  html?: boolean;
}

export function addReportCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("report")
    .jsonOption()
    .argument("<file...>", "recordings of roomhub record")
    .addOption(new Option("--html", "print one HTML page").conflicts("json"))
    .examples("roomhub report lab*.ndjson --html > lab.html")
    .action((files: string[], options: ReportOptionValues) => report(context, files, options));
}

async function report(
  context: CliContext,
  files: readonly string[],
  { json = false, html = false }: ReportOptionValues,
): Promise<void> {
  const sums = new ReportSums();
  const reading = readInto(context, sums, files);
  const next = "record a room: roomhub record ABC234 --out FILE";
  await explained("The recording cannot be read", next, reading);
  const result = sums.report();
  if (json) writeJson(context.stdout, { ...result, usage: result.usage.map(usageJson) });
  else if (html) context.stdout.write(reportHtml(result));
  else context.stdout.write(reportText(result, context.stdout.columns));
}

async function readInto({ readLines }: CliContext, sums: ReportSums, files: readonly string[]) {
  for (const file of files) for await (const line of readLines(file)) sums.note(line);
}

/** A report for a terminal: a sentence, and tables with an empty line before each. */
function reportText(report: Report, columns: number | undefined): string {
  const sentences = [reportSummary(report), ...reportRemarks(report)];
  const tables = reportTables(report).map(({ headings, rows }) =>
    formatTable(
      headings,
      rows.map((row) => row.map(safe)),
      columns,
    ),
  );
  return [sentences.map((line) => `${safe(line)}\n`).join(""), ...tables].join("\n");
}

const styles = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; margin-bottom: 2rem; }
th, td { text-align: left; padding: 0.25rem 1.25rem 0.25rem 0; border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
td { font-variant-numeric: tabular-nums; }
`;

/** A report as one page that loads nothing and runs no script. */
function reportHtml(report: Report): string {
  const remarks = reportRemarks(report).map((remark) => `<p>${escapeHtml(remark)}</p>\n`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>roomhub report</title>
<style>${styles}</style>
</head>
<body>
<h1>roomhub report</h1>
<p>${escapeHtml(reportSummary(report))}</p>
${remarks.join("")}${reportTables(report).map(tableHtml).join("")}</body>
</html>
`;
}

function tableHtml({ title, headings, rows }: ReportTable): string {
  const head = headings.map((heading) => `<th scope="col">${escapeHtml(heading)}</th>`).join("");
  const body = rows
    .map((row) => `<tr>${row.map((cell) => `<td>${escapeHtml(cell)}</td>`).join("")}</tr>\n`)
    .join("");
  return `<h2>${escapeHtml(title)}</h2>
<table>
<thead><tr>${head}</tr></thead>
<tbody>
${body}</tbody>
</table>
`;
}

const escapes: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => escapes[character] ?? "");
}
