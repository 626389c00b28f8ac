import type { Terminal } from "./context.ts";
import { cutTo, displayWidth, padTo } from "./display-width.ts";
import type { Colors } from "./text.ts";

export interface Column {
  heading: string;
  /** Cells it has from the beginning. */
  width: number;
  /** Names of any length: takes what a narrow terminal leaves. */
  isElastic?: boolean;
  isNumber?: boolean;
}

export interface Cell {
  text: string;
  paint?: ((text: string) => string) | undefined;
}

const gap = "  ";
/** Beyond this a name in a pipe stands out of its column instead of widening it for all that follow. */
const widestInPipe = 40;
const narrowestName = 6;
/** For the last column, which is read for how a request ended. */
const leastForLast = 14;

/**
 * Rows that come one by one, aligned as well as that can be known: a column grows with the widest cell so far. On a
 * terminal a row is cut, never wrapped; the last column takes what is left.
 *
 * @returns the row as a line, with a line of headings before the first
 */
export function createLiveTable(
  terminal: Terminal,
  colors: Colors,
  columns: readonly Column[],
): (cells: readonly Cell[]) => string {
  const widths = columns.map(({ width, heading }) => Math.max(width, heading.length));
  let hasHeadings = false;

  function line(cells: readonly Cell[]): string {
    const most = mostForNames(terminal, columns, widths);
    let left = terminal.columns ?? Number.POSITIVE_INFINITY;
    return columns
      .map(({ isElastic = false, isNumber = false }, index) => {
        const { text, paint = (plain: string) => plain } = cells[index] ?? { text: "" };
        const isLast = index === columns.length - 1;
        const width = isElastic ? Math.min(widths[index] ?? 0, most) : (widths[index] ?? 0);
        const isCut = isElastic && terminal.columns !== undefined;
        const shown = isCut ? cutTo(text, width) : text;
        const filled = isLast ? shown : padTo(shown, width, isNumber ? "left" : "right");
        const fitting = cutTo(filled, Math.max(0, left));
        left -= displayWidth(filled) + gap.length;
        return fitting === "" ? "" : paint(fitting) + (left > 0 && !isLast ? gap : "");
      })
      .join("")
      .trimEnd();
  }

  return (cells) => {
    for (const [index, { text }] of cells.entries()) {
      const limit = terminal.columns === undefined ? widestInPipe : Number.POSITIVE_INFINITY;
      const width = Math.min(displayWidth(text), limit);
      if (index < columns.length - 1) widths[index] = Math.max(widths[index] ?? 0, width);
    }
    const headings = columns.map(({ heading }) => ({ text: heading, paint: colors.dim }));
    const before = hasHeadings ? "" : `${line(headings)}\n`;
    hasHeadings = true;
    return before + line(cells);
  };
}

/** The cells each elastic column may have, so that the others fit beside them. */
function mostForNames(
  terminal: Terminal,
  columns: readonly Column[],
  widths: readonly number[],
): number {
  if (terminal.columns === undefined) return widestInPipe;
  const inner = columns.slice(0, -1);
  const elastic = inner.filter(({ isElastic = false }) => isElastic).length;
  const taken = inner.reduce(
    (sum, { isElastic = false }, index) =>
      sum + gap.length + (isElastic ? 0 : (widths[index] ?? 0)),
    leastForLast,
  );
  return Math.max(narrowestName, Math.floor((terminal.columns - taken) / Math.max(1, elastic)));
}
