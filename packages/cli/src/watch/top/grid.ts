import { cutTo, displayWidth } from "../../terminal/display-width.ts";
import { type Cell, type Column, fittingColumns } from "../../terminal/live-table.ts";

const gap = 2;
/** The widths of names and of the last column to which all are shortened first, and those below which none is. */
const useful = { name: 10, last: 18 };
const narrowest = { name: 4, last: 10 };

/**
 * A table whose rows are all known, as lines that fit: columns are dropped by `leftOut`, names are shortened, the last
 * column takes what remains.
 *
 * @returns the headings, then one line per row
 */
export function gridLines(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  totalCells: number,
  paintHeading: (text: string) => string,
): string[] {
  const natural = columns.map((column, index) => {
    const cells = rows.map((row) => displayWidth(row[index]?.text ?? ""));
    return Math.max(column.width, column.heading.length, ...cells);
  });
  const shown = shownColumns(columns, rows, natural, totalCells);
  const widths = shrunk(columns, natural, shown, totalCells);
  const headings = columns.map(({ heading }) => ({ text: heading, paint: paintHeading }));
  return [headings, ...rows].map((row) =>
    fittedLine(
      shown.map((index) => aligned(row[index] ?? { text: "" }, columns[index], widths[index] ?? 0)),
      totalCells,
    ),
  );
}

/** Cells side by side, cut where the line ends; spaces at the end are left out. */
export function fittedLine(cells: readonly Cell[], totalCells: number): string {
  let line = "";
  let left = totalCells;
  for (const [index, { text, paint = same }] of cells.entries()) {
    const isLast = index === cells.length - 1;
    const fitting = cutTo(isLast ? text.trimEnd() : text, left);
    left -= displayWidth(fitting) + gap;
    if (fitting !== "") line += paint(fitting);
    if (!isLast) line += " ".repeat(gap);
  }
  return line.trimEnd();
}

/** The indexes of the columns that fit when names have a useful width. */
function shownColumns(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  natural: readonly number[],
  totalCells: number,
): readonly number[] {
  const hasValue = (index: number) => rows.some((row) => (row[index]?.text ?? "-") !== "-");
  const shown = [...columns.keys()].filter(
    (index) => !columns[index]?.isOptional || hasValue(index),
  );
  const least = (index: number) => {
    const width = natural[index] ?? 0;
    if (index === columns.length - 1) return Math.min(width, narrowest.last);
    return columns[index]?.isElastic ? Math.min(width, useful.name) : width;
  };
  return fittingColumns(columns, shown, (some) => widthOf(some, least), totalCells);
}

/** The widths of the shown columns, the widest names shortened first. */
function shrunk(
  columns: readonly Column[],
  natural: readonly number[],
  shown: readonly number[],
  totalCells: number,
): number[] {
  const widths = [...natural];
  const last = columns.length - 1;
  const names = shown.filter((index) => columns[index]?.isElastic && index !== last);
  for (const least of [useful, narrowest]) {
    widths[last] = Math.min(widths[last] ?? 0, least.last);
    while (widthOf(shown, (index) => widths[index] ?? 0) > totalCells) {
      const widest = names.toSorted((one, other) => (widths[other] ?? 0) - (widths[one] ?? 0))[0];
      if (widest === undefined || (widths[widest] ?? 0) <= least.name) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
  }
  widths[last] = totalCells;
  return widths;
}

function widthOf(shown: readonly number[], width: (index: number) => number): number {
  return shown.reduce((sum, index) => sum + width(index) + gap, -gap);
}

function aligned({ text, paint }: Cell, column: Column | undefined, width: number): Cell {
  const cut = cutTo(text, width);
  const spaces = " ".repeat(Math.max(0, width - displayWidth(cut)));
  return { text: column?.isNumber ? spaces + cut : cut + spaces, paint };
}

function same(text: string): string {
  return text;
}
