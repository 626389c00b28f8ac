import { styleText } from "node:util";
import { escapeUnprintable, printable } from "@roomhub/protocol";
import type { Terminal } from "./terminal.ts";
import { cutTo, displayWidth, padTo } from "./display-width.ts";

export { shellWord } from "@roomhub/protocol";

const styles = [
  ...(["bold", "dim", "red", "green", "yellow", "magenta", "cyan"] as const),
  ...(["bgBlack", "whiteBright"] as const),
] as const;

export type Colors = Record<(typeof styles)[number], (text: string) => string>;

/** Colours on terminals only, unless disabled. https://no-color.org */
export function colorsFor(
  context: { env: Readonly<Record<string, string | undefined>> },
  terminal: Pick<Terminal, "isTTY">,
): Colors {
  const isDisabled = (context.env["NO_COLOR"] ?? "") !== "" || context.env["TERM"] === "dumb";
  return createColors(terminal.isTTY && !isDisabled);
}

/** @param isOn - else texts stay as they are */
export function createColors(isOn: boolean): Colors {
  const same = (text: string) => text;
  const painters = styles.map((style) => {
    // The terminal was looked at already.
    const paint = (text: string) => styleText(style, text, { validateStream: false });
    return [style, isOn ? paint : same] as const;
  });
  return Object.fromEntries(painters) as Colors;
}

/** The message of what was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A value that came from the network, on one line. */
export function safe(value: unknown): string {
  return printable(typeof value === "string" ? value : (JSON.stringify(value) ?? "?"));
}

/** Text that came from the network and may have several lines, such as a model's output. */
export function safeLines(text: string): string {
  return text
    .split(/(\r?\n|\t)/)
    .map((part, index) => (index % 2 === 1 ? part.replace("\r", "") : printable(part)))
    .join("");
}

/**
 * Columns as wide as their widest cell, two spaces apart, headings in capitals.
 *
 * @param most - maximum cells per line; longer lines are truncated
 */
export function formatTable(
  headings: readonly string[],
  rows: readonly string[][],
  most: number = Number.POSITIVE_INFINITY,
): string {
  const lines = [headings.map((heading) => heading.toUpperCase()), ...rows];
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((line) => displayWidth(line[column] ?? ""))),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => padTo(cell, widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .map((line) => `${cutTo(line, most)}\n`)
    .join("");
}

/** A table without the columns in which no row says anything. */
export function withoutEmpty(
  headings: readonly string[],
  rows: readonly string[][],
): [headings: string[], rows: string[][]] {
  const isShown = headings.map((_, column) => rows.some((row) => row[column] !== ""));
  const shown = (cells: readonly string[]) => cells.filter((_, column) => isShown[column]);
  return [shown(headings), rows.map(shown)];
}

/** A value as JSON on one line, with control characters escaped. */
export function writeJson(terminal: Terminal, value: unknown): void {
  terminal.write(`${escapeUnprintable(JSON.stringify(value))}\n`);
}

/** What a command did: as JSON, or as a line for people. */
export function printDone(
  { stdout, stderr }: { stdout: Terminal; stderr: Terminal },
  { json }: { json?: boolean },
  value: object,
  line: string,
): void {
  if (json === true) writeJson(stdout, value);
  else stderr.write(`${line}\n`);
}

/** `1 token`, `80 tokens` */
export function countOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** `12:03:04` in local time. */
export function clockTime(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return "--:--:--";
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

/** `340 ms`, `2.4 s`, `3 min 05 s`, `1 h 02 min`, `50 h 00 min` */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${twoDigits(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** A duration in at most six cells, for columns: `340 ms`, `2.4 s`, `3m05s` */
export function shortDuration(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  if (ms < 99_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}m${twoDigits(seconds % 60)}s`;
}
