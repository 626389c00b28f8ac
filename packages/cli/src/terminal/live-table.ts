import type { Terminal } from "../context.ts";
import { cutTo, displayWidth } from "./display-width.ts";
import type { Colors } from "./text.ts";

export interface Column {
  heading: string;
  /** Initial width in cells; the minimum for the last column, which takes the remaining space. */
  width: number;
  /** For names of any length: shrinks on a narrow terminal. */
  isElastic?: boolean;
  isNumber?: boolean;
  /** Hidden until a row has a value in it other than `-`. */
  isOptional?: boolean;
  /** The order in which a narrow terminal drops columns, lowest first; a column without it stays. */
  leftOut?: number;
}

export interface Cell {
  text: string;
  paint?: ((text: string) => string) | undefined;
}

const gap = "  ";
/** In a pipe, a longer name overflows its column instead of widening it for all following rows. */
const widestInPipe = 40;
const narrowestName = 6;
/** Narrower names are hard to distinguish, so number columns are dropped first. */
const usefulName = 10;

/**
 * A table whose rows arrive one by one: a column grows with its widest cell so far. On a terminal a row is truncated, never
 * wrapped; the last column takes the remaining space.
 *
 * @returns formats a row as a line, preceded by headings for the first row and whenever the shown columns change
 */
export function createLiveTable(
  terminal: Terminal,
  colors: Colors,
  columns: readonly Column[],
): (cells: readonly Cell[]) => string {
  const widths = columns.map(({ width, heading }) => Math.max(width, heading.length));
  const headings = columns.map(({ heading }) => ({ text: heading, paint: colors.dim }));
  const hidden = new Set([...columns.keys()].filter((index) => columns[index]?.isOptional));
  let lastHeaded = "";

  /** Each column's last measured text, since most cells repeat the one above. */
  const measured = columns.map(() => ({ text: "", cells: 0 }));

  function cellsOf(index: number, text: string): number {
    const last = measured[index];
    if (last?.text === text) return last.cells;
    const cells = displayWidth(text);
    measured[index] = { text, cells };
    return cells;
  }

  function line(cells: readonly Cell[], shown: readonly number[]): string {
    const most = mostForNames(terminal, columns, widths, shown);
    let left = terminal.columns ?? Number.POSITIVE_INFINITY;
    return shown
      .map((index) => {
        const { isElastic = false, isNumber = false } = columns[index] ?? {};
        const { text, paint = (plain: string) => plain } = cells[index] ?? { text: "" };
        const isLast = index === columns.length - 1;
        const width = isElastic ? Math.min(widths[index] ?? 0, most) : (widths[index] ?? 0);
        const textCells = cellsOf(index, text);
        const isCut = isElastic && terminal.columns !== undefined && textCells > width;
        const shownText = isCut ? cutTo(text, width) : text;
        const shownCells = isCut ? displayWidth(shownText) : textCells;
        const spaces = isLast ? 0 : Math.max(0, width - shownCells);
        const filled = isNumber ? " ".repeat(spaces) + shownText : shownText + " ".repeat(spaces);
        const filledCells = shownCells + spaces;
        const fitting = filledCells <= left ? filled : cutTo(filled, Math.max(0, left));
        left -= filledCells + gap.length;
        return fitting === "" ? "" : paint(fitting) + (left > 0 && !isLast ? gap : "");
      })
      .join("")
      .trimEnd();
  }

  return (cells) => {
    for (const [index, { text }] of cells.entries()) {
      if (text !== "-") hidden.delete(index);
      const limit = terminal.columns === undefined ? widestInPipe : Number.POSITIVE_INFINITY;
      if (index === columns.length - 1) continue;
      widths[index] = Math.max(widths[index] ?? 0, Math.min(cellsOf(index, text), limit));
    }
    const visible = [...columns.keys()].filter((index) => !hidden.has(index));
    const needed = (some: readonly number[]) => neededCells(columns, widths, some);
    const shown = fittingColumns(columns, visible, needed, terminal.columns);
    const headed = shown.join();
    const before = headed === lastHeaded ? "" : `${line(headings, shown)}\n`;
    lastHeaded = headed;
    return before + line(cells, shown);
  };
}

/**
 * Drops columns by `leftOut` until the rest fits, or no column may be dropped.
 *
 * @param shown - indexes of columns
 * @param neededCells - the least width of these columns
 * @returns the columns that are left
 */
export function fittingColumns(
  columns: readonly Column[],
  shown: readonly number[],
  neededCells: (shown: readonly number[]) => number,
  totalCells: number = Number.POSITIVE_INFINITY,
): readonly number[] {
  const rank = (index: number) => columns[index]?.leftOut ?? Number.POSITIVE_INFINITY;
  let left = shown;
  while (neededCells(left) > totalCells) {
    const next = left.toSorted((one, other) => rank(one) - rank(other))[0];
    if (next === undefined || rank(next) === Number.POSITIVE_INFINITY) break;
    left = left.filter((index) => index !== next);
  }
  return left;
}

function neededCells(
  columns: readonly Column[],
  widths: readonly number[],
  shown: readonly number[],
): number {
  const names = shown.filter((index) => columns[index]?.isElastic);
  const forNames = names.map((index) => Math.min(widths[index] ?? 0, usefulName));
  return forNames.reduce((sum, cells) => sum + cells, cellsBesideNames(columns, widths, shown));
}

/** The width available to each elastic column. */
function mostForNames(
  terminal: Terminal,
  columns: readonly Column[],
  widths: readonly number[],
  shown: readonly number[],
): number {
  if (terminal.columns === undefined) return widestInPipe;
  const elastic = shown.filter((index) => columns[index]?.isElastic).length;
  const left = terminal.columns - cellsBesideNames(columns, widths, shown);
  return Math.max(narrowestName, Math.floor(left / Math.max(1, elastic)));
}

/** The width of all fixed columns, including the last one, and of the gaps. */
function cellsBesideNames(
  columns: readonly Column[],
  widths: readonly number[],
  shown: readonly number[],
): number {
  return shown.reduce((sum, index) => {
    const isLast = index === columns.length - 1;
    const { isElastic = false } = columns[index] ?? {};
    return sum + (isElastic ? 0 : (widths[index] ?? 0)) + (isLast ? 0 : gap.length);
  }, 0);
}
