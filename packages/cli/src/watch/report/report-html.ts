import type { Report } from "./report-sums.ts";
import { reportRemarks, reportSummary, type ReportTable, reportTables } from "./report-tables.ts";

const styles = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; margin-bottom: 2rem; }
th, td { text-align: left; padding: 0.25rem 1.25rem 0.25rem 0; border-bottom: 1px solid #8884; overflow-wrap: anywhere; }
td { font-variant-numeric: tabular-nums; }
`;

/** A report as one page that loads nothing and runs no script. */
export function reportHtml(report: Report): string {
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
