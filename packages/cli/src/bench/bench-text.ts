import {
  type BenchResult,
  type CanaryName,
  canaryNames,
  firstTokenMs,
  generationOf,
  type ParticipantResult,
  tokensText,
} from "@roomhub/room-state";
import { shortDuration, formatTable, safe } from "../terminal/text.ts";
import type { Change } from "./bench-figures.ts";

const barCells = 10;

/** A table with a bar for the speed of each, and the errors below. @param most - cells of a line */
export function benchText({ participants, hubRoundTripMs }: BenchResult, most: number): string {
  const measured = participants.filter(({ skipped }) => skipped === undefined);
  const best = Math.max(...measured.map((one) => generationOf(one, "alone")?.tokensPerSecond ?? 0));
  const table =
    measured.length === 0
      ? ""
      : formatTable(
          [
            ...["id", "model", "context", "first at 1k", "at 16k", "prompt/s", "output/s", ""],
            ...["together", ...canaryNames],
          ],
          measured.map((one) => row(one, best)),
          most,
        );
  const skipped = participants.flatMap(({ id, skipped: why }) =>
    why === undefined ? [] : [`${safe(id)} was not measured: ${safe(why)}\n`],
  );
  const errors = measured.flatMap((one) =>
    one.errors.map((error) => `! ${safe(one.id)}: ${error}\n`),
  );
  const trip =
    hubRoundTripMs === null ? "" : `The hub is ${shortDuration(hubRoundTripMs)} away and back\n`;
  return [table, trip, ...skipped, ...errors].join("");
}

function row(one: ParticipantResult, best: number): string[] {
  const first = (bytes: number) => {
    const ms = firstTokenMs(one, bytes);
    return ms === null ? "–" : shortDuration(ms);
  };
  const alone = generationOf(one, "alone")?.tokensPerSecond ?? null;
  const together = generationOf(one, "together");
  return [
    ...[safe(one.id), safe(one.model), one.context === null ? "–" : tokensText(one.context)],
    ...[first(1024), first(16 * 1024), number(one.promptTokensPerSecond), number(alone)],
    bar(alone ?? 0, best),
    together === undefined ? "–" : `${number(together.tokensPerSecond)} (${together.requests})`,
    ...canaryNames.map((name) => mark(one, name)),
  ];
}

function number(value: number | null): string {
  return value === null ? "–" : value < 100 ? value.toFixed(1) : String(Math.round(value));
}

function bar(value: number, best: number): string {
  return best === 0 ? "" : "█".repeat(Math.max(1, Math.round((value / best) * barCells)));
}

const marks = { passed: "yes", failed: "no", refused: "refused" };

function mark({ canaries }: ParticipantResult, name: CanaryName): string {
  const verdict = canaries[name];
  return verdict === undefined ? "–" : marks[verdict];
}

export function changesText(changes: readonly Change[], at: string): string {
  if (changes.length === 0) return `Nothing changed by more than a tenth since ${safe(at)}\n`;
  const lines = changes.map(
    ({ id, what, from, to }) =>
      `${safe(id)}: ${safe(what)} ${text(from)} → ${text(to)}${share(from, to)}\n`,
  );
  return [`Since ${safe(at)}:\n`, ...lines].join("");
}

function text(value: Change["from"]): string {
  return value === null ? "–" : safe(String(value));
}

function share(from: Change["from"], to: Change["to"]): string {
  if (typeof from !== "number" || typeof to !== "number" || from === 0) return "";
  const percent = Math.round((to / from - 1) * 100);
  return ` (${percent > 0 ? "+" : ""}${percent} %)`;
}
