import type { Comparison, Results, RowReport } from "./results.ts";
import { isMet } from "../row.ts";

const header = ["#", "What", "Figure", "Goal", "Measured", ""];

/** One table of everything, for a terminal. */
export function renderTable(rows: readonly RowReport[]): string {
  return alignedTable([header, ...rows.flatMap(linesOf)]);
}

/** The same for a document. */
export function renderMarkdown(rows: readonly RowReport[]): string {
  return markdownTable([header, ...rows.flatMap(linesOf)]);
}

/** @param table - its header first */
export function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The absolute numbers behind the ratios, which are valid on this machine only. */
export function renderSeen(rows: readonly RowReport[]): string {
  return rows
    .flatMap((row) =>
      row.kind === "measured" ? row.seen.map((line) => `${row.id.padStart(3)}  ${line}\n`) : [],
    )
    .join("");
}

export function renderSummary({ rows, loadAverage, machine, seconds, isQuick }: Results): string {
  const count = (kind: ReturnType<typeof verdictOf>) =>
    rows.filter((row) => verdictOf(row) === kind).length;
  const loads = loadAverage.map((load) => load.toFixed(1)).join(" and ");
  const quick = isQuick ? "; quick: too short to rely on" : "";
  return [
    `${count("met")} met, ${count("missed")} missed, ${count("skipped")} skipped, ${count("broken")} broken`,
    `${Math.round(seconds)} s on ${machine.cores} cores, Node ${machine.node}, load average ${loads} before and after${quick}`,
    "",
  ].join("\n");
}

export function renderComparison(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map(({ rowId, what, before, now, unit, isRegression }) => {
    const change = `${now >= before ? "+" : "−"}${Math.abs((now / before - 1) * 100).toFixed(0)} %`;
    const mark = isRegression ? "✗ regression" : "";
    return [rowId, what, withUnit(before, unit), withUnit(now, unit), change, mark];
  });
  return alignedTable([["#", "Figure", "Before", "Now", "Change", ""], ...rows]);
}

export function verdictOf(row: RowReport): "met" | "missed" | "skipped" | "broken" {
  if (row.kind !== "measured") return row.kind;
  return row.figures.every(isMet) ? "met" : "missed";
}

function linesOf(row: RowReport): string[][] {
  if (row.kind !== "measured") return [[row.id, row.title, "", "", row.kind, row.why]];
  return row.figures.map((figure, index) => [
    ...(index === 0 ? [row.id, row.title] : ["", ""]),
    figure.what,
    figure.goal === undefined ? "none" : `≤ ${withUnit(figure.goal, figure.unit)}`,
    withUnit(figure.value, figure.unit),
    isMet(figure) ? "✓" : "✗ missed",
  ]);
}

function withUnit(value: number, unit: string): string {
  if (unit === "") return String(value);
  const digits =
    Math.abs(value) < 0.1 ? 4 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${Number(value.toFixed(digits))} ${unit}`;
}

/** Columns as wide as their widest cell, for a terminal. */
export function alignedTable(table: readonly (readonly string[])[]): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((cells) => (cells[column] ?? "").length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${table.map(line).join("\n")}\n`;
}
