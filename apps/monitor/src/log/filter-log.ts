import type { LogLevel, LogLine } from "@roomhub/room-state";

/** What of the log is shown. */
export interface LogFilter {
  /** lines that contain all of its words, in any case */
  text: string;
  /** the least serious level */
  level: LogLevel;
}

const seriousness: Record<LogLevel, number> = { info: 0, warning: 1, error: 2 };

export function filterLog(log: readonly LogLine[], { text, level }: LogFilter): readonly LogLine[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && level === "info") return log;
  return log.filter((line) => {
    if (seriousness[line.level] < seriousness[level]) return false;
    const lower = line.text.toLowerCase();
    return words.every((word) => lower.includes(word));
  });
}

/** One line as it is shown and copied: `14:03:22.120 error alice: …`. */
export function lineText({ atMs, level, text }: LogLine): string {
  return `${clockText(atMs)} ${level} ${text}`;
}

/** The time of day where the page is shown. */
export function clockText(atMs: number): string {
  const date = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${time}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
