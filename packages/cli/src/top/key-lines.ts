import { fittedLine } from "./grid.ts";
import type { TopView } from "./view.ts";

/** The last line of a frame. */
export function keyLine({ columns, colors }: TopView): string {
  const keys = ["q quit", "? what is shown", "Ctrl+L draw again"];
  return fittedLine(
    keys.map((text) => ({ text, paint: colors.dim })),
    columns,
  );
}

const explained = [
  ["15 min", "requests, failures, time to the first token (ttft, median and"],
  ["", "95th percentile), share of prompt tokens read from a cache"],
  ["charts", "tokens per second, and time to the first token, over 15 minutes"],
  ["", ""],
  ["SLOTS", "█ busy with this room, ▒ busy with other work, · free"],
  ["DONE, FAILED", "requests of the last 15 minutes"],
  ["CACHE", "share of prompt tokens read from a cache"],
  ["BUDGET", "what is left of the tokens its owner shares per day"],
  ["STATE", "ready, or why it gets no requests"],
  ["", ""],
  ["ELAPSED", "time since the request was sent"],
  ["TOKENS, TOK/S", "tokens so far, and per second since the first one"],
  ["", ""],
  ["q", "quit"],
  ["?", "back to the room"],
  ["Ctrl+L", "draw everything again"],
] as const;

/** What the sections show, in place of them. As many lines as the terminal has, each at most as wide. */
export function explanationLines({ columns, rows, colors }: TopView): string[] {
  const lines = explained.map(([name, text]) =>
    fittedLine([{ text: name.padEnd(14), paint: colors.bold }, { text }], columns),
  );
  return Array.from({ length: rows }, (_, index) => lines[index] ?? "");
}
