import type { CliContext } from "../context.ts";
import { padTo } from "../terminal/display-width.ts";
import { colorsFor, duration, safe } from "../terminal/text.ts";
import type { CheckResult } from "./check.ts";

const marks = { ok: "✓", failed: "✗", skipped: "–" } as const;
const paints = { ok: "green", failed: "red", skipped: "dim" } as const;
const nameWidth = "participants".length;
const timeWidth = "1 min 01 s".length;

/** One check as lines of text: mark, name, time and finding; below them the details and the next step. */
export function checkLines(context: CliContext, result: CheckResult): string {
  const { name, verdict, ms, found, fix, details } = result;
  const colors = colorsFor(context, context.stdout);
  const paint = colors[paints[verdict]];
  const time = verdict === "skipped" ? "" : duration(ms);
  return [
    `${paint(marks[verdict])} ${padTo(name, nameWidth)}  ${colors.dim(padTo(time, timeWidth, "left"))}  ${safe(found)}`,
    ...details.map((line) => `    ${colors.dim(safe(line))}`),
    ...(fix === undefined ? [] : [`  → ${safe(fix)}`]),
    "",
  ].join("\n");
}

/** One check as JSON. */
export function checkJson({ name, verdict, ms, found, fix, details }: CheckResult): object {
  return {
    name,
    verdict,
    ms,
    found,
    ...(fix === undefined ? {} : { fix }),
    ...(details.length === 0 ? {} : { details }),
  };
}
