import { shellWord } from "../terminal/text.ts";
import { readable, steady } from "./readable.fixture.ts";

/** What stands on a terminal after a command, as a page of a snapshot. */
export function terminalPage(
  args: readonly string[],
  code: number,
  columns: number,
  text: string,
): string {
  return page(`${commandLine(args)}   # terminal of ${columns} columns, exit ${code}`, text);
}

/** What came out of each stream, the one that stayed empty left out. Of `--json` each line must be JSON. */
export function pipePage(
  args: readonly string[],
  code: number,
  stdout: string,
  stderr: string,
): string {
  const data = args.includes("--json") ? laidOut(stdout) : stdout;
  const streams = [
    ...(stdout === "" ? [] : [page("# stdout", data)]),
    ...(stderr === "" ? [] : [page("# stderr", stderr)]),
  ];
  return page(`${commandLine(args)}   # pipe, exit ${code}`, streams.join(""));
}

/** Text between a heading and the next one. Begins with a line break, because that is how snapshots read best. */
export function page(heading: string, text: string): string {
  const end = text === "" || text.endsWith("\n") ? "" : "‹no line break›\n";
  return `\n${heading}\n${steady(readable(text))}${end}`;
}

/** Lines of JSON, one value each, the long ones over several lines. @throws SyntaxError when one is none */
function laidOut(text: string): string {
  return text.replaceAll(/.+/g, (line) => readableJson(JSON.parse(line), ""));
}

function readableJson(value: unknown, indent: string): string {
  const line = JSON.stringify(value);
  if (line.length <= 160 || typeof value !== "object" || value === null) return line;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((entry) => inner + readableJson(entry, inner))
    : Object.entries(value).map(
        ([name, entry]) => `${inner}${JSON.stringify(name)}: ${readableJson(entry, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${parts.join(",\n")}\n${indent}${close}`;
}

function commandLine(args: readonly string[]): string {
  return ["$ roomhub", ...args.map(shellWord)].join(" ");
}
