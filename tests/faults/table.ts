import type { RunResult } from "./run-result.ts";
import type { Figure } from "./figure.ts";

const beginMark = "<!-- begin: written by npm run test:faults -->";
const endMark = "<!-- end -->";

const marks = { held: "held", broken: "**broken**", skipped: "skipped" };

/** A document with the result of a run between its two marks. @throws Error when they are not there */
export function withTable(document: string, result: RunResult): string {
  const begin = document.indexOf(beginMark);
  const end = document.indexOf(endMark, begin);
  if (begin === -1 || end === -1)
    throw new Error(`no "${beginMark}" … "${endMark}" to write between`);
  return `${document.slice(0, begin + beginMark.length)}\n\n${renderTable(result)}\n${document.slice(end)}`;
}

function renderTable({ machine, note, scenarios, figures }: RunResult): string {
  const { cores, node, loadBefore, loadAfter } = machine;
  return [
    `${cores} cores, Node ${node}, load average ${loadBefore.toFixed(1)} before and ${loadAfter.toFixed(1)} after.`,
    ...(note === undefined ? [] : [note]),
    "",
    ...table(
      ["Scenario", "What must hold", "Calls", "Took", ""],
      scenarios.map(({ id, title, calls, seconds, kind, notes, missed }) => [
        ...[id, title, String(calls), `${seconds.toFixed(1)} s`],
        [marks[kind], ...notes, ...missed].join("; "),
      ]),
    ),
    "",
    ...table(["Measured", "Goal", "Result", ""], figures.map(figureRow)),
    "",
  ].join("\n");
}

function figureRow({ what, goal, measured, isMet }: Figure): string[] {
  return [what, goal, measured, isMet ? "met" : "**missed**"];
}

function table(header: string[], rows: string[][]): string[] {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;
  return [line(header), `|${"---|".repeat(header.length)}`, ...rows.map(line)];
}
