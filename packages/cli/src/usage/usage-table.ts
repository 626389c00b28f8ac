import { tokenText } from "@roomhub/room-state";
import type { Terminal } from "../context.ts";
import { safe, formatTable } from "../terminal/text.ts";
import type { UsageRow } from "./usage-sums.ts";

/** So that a terminal of the usual height has room for it: what has scrolled away cannot be replaced. */
const mostRowsShown = 20;
export const usageHeadings: readonly string[] = [
  ...["person", "participant", "model"],
  ...["requests", "errors", "input", "output", "cached"],
];

/** The cells of a row, as they came from the network. Tokens that are not known are `–`, and an estimate begins with `≈`. */
export function usageCells(row: UsageRow): string[] {
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
