import { clockText } from "../parts/figure-text.ts";
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
