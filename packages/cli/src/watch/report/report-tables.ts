import { tokenText } from "@roomhub/room-state";
import { countOf, formatTable, safe } from "../../terminal/text.ts";
import type { Percentiles, Report } from "./report-sums.ts";
import type { Terminal } from "../../context.ts";
import type { UsageRow } from "./usage-sums.ts";

/** A table of a report, before it is text or HTML. Its cells are as they came from the network. */
export interface ReportTable {
  title: string;
  headings: readonly string[];
  rows: readonly string[][];
}

/** The sentence at the beginning of a report. */
export function reportSummary({ from, to, requests, errors, resumes }: Report): string {
  const when = from === null || to === null ? "No events" : `${from} to ${to}`;
  const resumed = resumes === 0 ? "" : `, ${countOf(resumes, "resume")} after a lost connection`;
  return `${when}: ${countOf(requests, "request")}, ${countOf(errors, "error")}${resumed}`;
}

/** What the recording lacks, one sentence each. */
export function reportRemarks({ missedEvents, restarts, unreadableLines }: Report): string[] {
  return [
    ...(missedEvents === 0 ? [] : [`${countOf(missedEvents, "event")} not recorded`]),
    ...(restarts === 0
      ? []
      : [`${countOf(restarts, "restart")} of the hub, with an unknown number of events before it`]),
    ...(unreadableLines === 0 ? [] : [`${countOf(unreadableLines, "line")} not read`]),
  ];
}

/** Tables without rows are left out. */
export function reportTables(report: Report): ReportTable[] {
  const { ttftMs, tokensPerSecond, failures, usage } = report;
  const tables = [
    {
      title: "Responses",
      headings: ["", "p50", "p95", "p99"],
      rows: [
        ...percentileRow("time to first token (ms)", ttftMs),
        ...percentileRow("tokens per second", tokensPerSecond),
      ],
    },
    {
      title: "Errors",
      headings: ["stage", "code", "requests"],
      rows: failures.map(({ stage, code, requests }) => [stage, code, String(requests)]),
    },
    {
      title: "Usage",
      headings: usageHeadings,
      rows: usage.map(usageCells),
    },
  ];
  return tables.filter(({ rows }) => rows.length > 0);
}

function percentileRow(title: string, values: Percentiles | null): string[][] {
  return values === null ? [] : [[title, ...Object.values<number>({ ...values }).map(String)]];
}

/** So that a terminal of the usual height has room for it: what has scrolled away cannot be replaced. */
const mostRowsShown = 20;
const usageHeadings: readonly string[] = [
  ...["person", "participant", "model"],
  ...["requests", "errors", "input", "output", "cached"],
];

/** The cells of a row, as they came from the network. Tokens that are not known are `–`, and an estimate begins with `≈`. */
function usageCells(row: UsageRow): string[] {
  return [
    ...[row.person, row.participantId, row.model, String(row.requests), String(row.errors)],
    ...[row.inputTokens, row.outputTokens, row.cachedInputTokens].map((sum) => tokenText(sum)),
  ];
}

/**
 * @param most - rows; the rest are one line with their count
 * @returns lines, each with its line break
 */
export function usageTable(
  rows: readonly UsageRow[],
  columns: number | undefined,
  most: number = Number.POSITIVE_INFINITY,
): string {
  const shown = rows.slice(0, most).map((row) => usageCells(row).map(safe));
  const left = rows.length - shown.length;
  return formatTable(usageHeadings, shown, columns) + (left > 0 ? `… ${left} more rows\n` : "");
}

/**
 * A table that replaces itself on a terminal.
 *
 * @returns shows these rows in place of those before
 */
export function createUsageScreen(terminal: Terminal): (rows: readonly UsageRow[]) => void {
  let lineCount = 0;
  return (rows) => {
    const text = usageTable(rows, terminal.columns, mostRowsShown);
    const erase = lineCount === 0 ? "" : `\u001b[${lineCount}A\u001b[J`;
    lineCount = text.split("\n").length - 1;
    terminal.write(erase + text);
  };
}
