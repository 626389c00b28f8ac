import type { RunResult } from "./run-result.ts";
import type { Report } from "./run-scenario.ts";
import type { Figure } from "./figure.ts";

const marks = { held: "✓", broken: "✗", skipped: "-" };

/** One line, and one more for everything that did not hold. */
export function renderReport({ scenario, kind, notes, missed, calls, seconds }: Report): string {
  const head = `${marks[kind]} ${scenario.id.padEnd(10)} ${scenario.title}`;
  if (kind === "skipped") return `${head} — skipped: ${notes.join("; ")}\n`;
  const lines = [...notes, ...missed.map((miss) => `missed: ${miss}`)].map(
    (note) => `             ${note}\n`,
  );
  return `${head} (${seconds.toFixed(1)} s, ${calls} calls)\n${lines.join("")}`;
}

export function renderFigures(figures: readonly Figure[]): string {
  const rows = figures.map(({ what, goal, measured, isMet }) => [
    ...[what, goal, measured, isMet ? "✓" : "✗ missed"],
  ]);
  const all = [["What", "Goal", "Measured", ""], ...rows];
  const widths = [0, 1, 2].map((column) =>
    Math.max(...all.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `\n${all.map(line).join("\n")}\n`;
}

/** Times mean little on a machine that is busy with something else. */
export function renderMachine({
  cores,
  node,
  loadBefore,
  loadAfter,
}: RunResult["machine"]): string {
  const loads = `${loadBefore.toFixed(1)} and ${loadAfter.toFixed(1)}`;
  return `\n${cores} cores, Node ${node}, load average ${loads} before and after\n`;
}
