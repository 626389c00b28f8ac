import { formatTable, safe } from "../terminal/text.ts";
import type { Report } from "./report-sums.ts";
import { reportRemarks, reportSummary, reportTables } from "./report-tables.ts";

/** A report for a terminal: a sentence, and tables with an empty line before each. */
export function reportText(report: Report, columns: number | undefined): string {
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
