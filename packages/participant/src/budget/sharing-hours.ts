/** Local hours in which a participant serves requests, from the first to before the second. */
export interface SharingHours {
  /** 0–23 */
  from: number;
  /** 0–23; not `from`, and smaller than `from` when midnight is in between */
  to: number;
}

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

/**
 * Parses `18-23` or `22-6`. Hours are 0 to 24.
 *
 * @returns why it is invalid, as the end of a sentence about the hours
 */
export function parseHours(text: string): SharingHours | string {
  const [, from, to] = (/^(\d{1,2})-(\d{1,2})$/.exec(text.trim()) ?? []).map(Number);
  if (from === undefined || to === undefined || from > 24 || to > 24) {
    return "must be two hours from 0 to 24, such as 18-23";
  }
  const hours = { from: from % 24, to: to % 24 };
  return hours.from === hours.to ? "cover the whole day or none of it; leave them out" : hours;
}

export function isWithin({ from, to }: SharingHours, hour: number): boolean {
  return from < to ? hour >= from && hour < to : hour >= from || hour < to;
}

/** `from 18:00 to 23:00` */
export function hoursInWords({ from, to }: SharingHours): string {
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
