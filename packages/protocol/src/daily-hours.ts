/** Hours of each day on a local clock, from the first to before the second. */
export interface DailyHours {
  /** 0–23 */
  from: number;
  /** 0–23; not `from`, and smaller than `from` when midnight is in between */
  to: number;
}

/**
 * Parses `18-23` or `22-6`. Hours are 0 to 24.
 *
 * @returns why it is invalid, as the end of a sentence about the hours
 */
export function parseHours(text: string): DailyHours | string {
  const [, from, to] = (/^(\d{1,2})-(\d{1,2})$/.exec(text.trim()) ?? []).map(Number);
  if (from === undefined || to === undefined || from > 24 || to > 24) {
    return "must be two hours from 0 to 24, such as 18-23";
  }
  const hours = { from: from % 24, to: to % 24 };
  return hours.from === hours.to ? "cover the whole day or none of it; leave them out" : hours;
}

export function isInHours({ from, to }: DailyHours, hour: number): boolean {
  return from < to ? hour >= from && hour < to : hour >= from || hour < to;
}
