import { clockText } from "../parts/figure-text.ts";

/** The lines of one plot, by time. */
export interface PlotData {
  /** epoch ms, at equal distances */
  timesMs: readonly number[];
  /** one list per line; null where there was nothing to measure, undefined where nothing is known */
  lines: readonly (readonly (number | null | undefined)[])[];
}

/** A mark of an axis. */
export interface Tick {
  /** 0 to 1, from the left or from the bottom */
  at: number;
  text: string;
}

const minuteMs = 60_000;
const tickMs = 5 * minuteMs;

/** The highest value that the vertical axis has room for: 1 when all are 0. */
export function highestOf({ lines }: PlotData): number {
  const highest = lines.flat().reduce((most: number, value) => Math.max(most, value ?? 0), 0);
  return highest > 0 ? highest * 1.1 : 1;
}

/**
 * The path of one line, in a square of 1,000 by 1,000 with its origin at the top.
 *
 * The line crosses values that could not be measured (null) and has a gap where nothing is known (undefined). A value without
 * neighbours is a line of no length, which is drawn as a dot.
 */
export function pathOf(values: readonly (number | null | undefined)[], highest: number): string {
  let path = "";
  let isBegun = false;
  values.forEach((value, index) => {
    if (value === undefined) isBegun = false;
    if (typeof value !== "number") return;
    const x = Math.round((index / Math.max(1, values.length - 1)) * 1_000);
    const y = Math.round((1 - value / highest) * 1_000);
    path += isBegun ? `L${x} ${y}` : `M${x} ${y}h0`;
    isBegun = true;
  });
  return path;
}

/** Every five minutes, as a clock shows them where the page is. */
export function timeTicks(timesMs: readonly number[]): Tick[] {
  const [startMs = 0] = timesMs;
  const lengthMs = (timesMs.at(-1) ?? 0) - startMs;
  const offsetMs = new Date(startMs).getTimezoneOffset() * minuteMs;
  const ticks: Tick[] = [];
  const firstMs = Math.ceil((startMs - offsetMs) / tickMs) * tickMs + offsetMs;
  for (let atMs = firstMs; atMs <= startMs + lengthMs; atMs += tickMs) {
    const at = (atMs - startMs) / Math.max(1, lengthMs);
    ticks.push({ at, text: clockText(atMs).slice(0, 5) });
  }
  return ticks;
}

/** Round values, from 0 to at most five of them. */
export function valueTicks(highest: number): Tick[] {
  const rough = highest / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough) ?? rough;
  const ticks: Tick[] = [];
  for (let count = 0; count * step <= highest; count++) {
    const value = Number((count * step).toPrecision(3));
    ticks.push({ at: value / highest, text: value.toLocaleString("en-US") });
  }
  return ticks;
}
