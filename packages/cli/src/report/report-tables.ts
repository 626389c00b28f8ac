import { countOf } from "../terminal/text.ts";
import { usageCells, usageHeadings } from "../usage/usage-table.ts";
import type { Percentiles } from "./quantiles.ts";
import type { Report } from "./report-sums.ts";

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
