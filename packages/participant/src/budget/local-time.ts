import type { DailyHours } from "@roomhub/protocol";

/** A moment on the clock of this machine's time zone. */
export interface LocalTime {
  /** `2026-03-29` */
  day: string;
  /** 0–23 */
  hour: number;
}

/** Reads a moment, in epoch ms, on a local clock. */
export type ReadLocalTime = (epochMs: number) => LocalTime;

/** The time zone of this process. */
export const systemLocalTime: ReadLocalTime = (epochMs) => {
  const date = new Date(epochMs);
  const day = [date.getFullYear(), twoDigits(date.getMonth() + 1), twoDigits(date.getDate())];
  return { day: day.join("-"), hour: date.getHours() };
};

/** `from 18:00 to 23:00` */
export function hoursInWords({ from, to }: DailyHours): string {
  return `from ${clockHour(from)} to ${clockHour(to)}`;
}

const quarterMs = 15 * 60_000;
/** More than two days: an hour that a change of the clocks skips comes the day after. */
const maxQuarters = 4 * 50;

/**
 * The first full quarter of an hour after `afterMs` at which a local clock shows what is looked for. All time zones, and
 * all changes of clocks, are whole quarters of an hour away from UTC.
 *
 * @returns epoch ms
 */
export function firstQuarterHour(
  afterMs: number,
  readLocalTime: ReadLocalTime,
  isSought: (time: LocalTime) => boolean,
): number {
  let atMs = Math.floor(afterMs / quarterMs) * quarterMs;
  for (let count = 0; count < maxQuarters; count++) {
    atMs += quarterMs;
    if (isSought(readLocalTime(atMs))) return atMs;
  }
  return atMs;
}

function clockHour(hour: number): string {
  return `${twoDigits(hour)}:00`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
