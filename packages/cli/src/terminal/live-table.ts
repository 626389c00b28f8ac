import type { Terminal } from "../context.ts";
import { cutTo, displayWidth } from "./display-width.ts";
import type { Colors } from "./text.ts";

export interface Column {
  heading: string;
  /** Cells it has from the beginning; the last column, which takes what is left, has at least these. */
  width: number;
  /** Names of any length: takes what a narrow terminal leaves. */
  isElastic?: boolean;
  isNumber?: boolean;
  /** A terminal too narrow for all leaves columns out, the least of these first; a column without one stays. */
  leftOut?: number;
}

export interface Cell {
  text: string;
  paint?: ((text: string) => string) | undefined;
}

const gap = "  ";
/** Beyond this a name in a pipe stands out of its column instead of widening it for all that follow. */
const widestInPipe = 40;
const narrowestName = 6;
/** Below this a name tells little, and columns of numbers make room for it. */
const usefulName = 10;

/**
 * Rows that come one by one, aligned as well as that can be known: a column grows with the widest cell so far. On a
 * terminal a row is cut, never wrapped; the last column takes what is left.
 *
 * @returns the row as a line, with a line of headings before the first and wherever other columns are shown than before
 */
export function createLiveTable(
  terminal: Terminal,
  colors: Colors,
  columns: readonly Column[],
): (cells: readonly Cell[]) => string {
  const widths = columns.map(({ width, heading }) => Math.max(width, heading.length));
  const headings = columns.map(({ heading }) => ({ text: heading, paint: colors.dim }));
  let lastHeaded = "";

  /** Of each column the last text that was measured: most cells say what the one above says. */
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
      const limit = terminal.columns === undefined ? widestInPipe : Number.POSITIVE_INFINITY;
      if (index === columns.length - 1) continue;
      widths[index] = Math.max(widths[index] ?? 0, Math.min(cellsOf(index, text), limit));
    }
    const shown = shownColumns(terminal, columns, widths);
    const headed = shown.join();
    const before = headed === lastHeaded ? "" : `${line(headings, shown)}\n`;
    lastHeaded = headed;
    return before + line(cells, shown);
  };
}

/** The columns, by index, that fit beside each other with names that tell something. */
function shownColumns(
  terminal: Terminal,
  columns: readonly Column[],
  widths: readonly number[],
): number[] {
  const shown = columns.map((_, index) => index);
  const rank = (index: number) => columns[index]?.leftOut ?? Number.POSITIVE_INFINITY;
  while (neededCells(columns, widths, shown) > (terminal.columns ?? Number.POSITIVE_INFINITY)) {
    const next = shown.toSorted((one, other) => rank(one) - rank(other))[0];
    if (next === undefined || rank(next) === Number.POSITIVE_INFINITY) break;
    shown.splice(shown.indexOf(next), 1);
  }
  return shown;
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

/** The cells each elastic column may have, so that the others fit beside them. */
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

/** Columns of a fixed width, the last one among them, and the gaps between all. */
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
