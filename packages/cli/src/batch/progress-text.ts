import { clockTime, duration, safe } from "../terminal/text.ts";
import type { BatchProgress } from "./run/run-batch.ts";

/** Rates are those of so long. */
const rateMs = 300_000;
const sampleMs = 5_000;
const shownParticipants = 4;

/** How a batch gets on, in a line for people. */
export class ProgressText {
  readonly #samples: { atMs: number; finished: number; outputTokens: number }[] = [];

  /**
   * `1,200/10,000 (12 %), 3 errors, 8 running, 412 tokens/s, ana 60 % bob 40 %, done at 03:12:40`
   *
   * @param nowMs - monotonic
   * @param wallMs - epoch ms
   */
  line(progress: BatchProgress, nowMs: number, wallMs: number): string {
    const { total, completed, failed, running, waitsFor } = progress;
    const done = completed + failed;
    const { perMs, tokensPerSecond } = this.#rates(progress, nowMs);
    const leftMs = perMs > 0 ? (total - done) / perMs : undefined;
    return [
      `${grouped(done)}/${grouped(total)} (${Math.floor((done / total) * 100)} %)`,
      ...(failed > 0 ? [`${grouped(failed)} ${failed === 1 ? "error" : "errors"}`] : []),
      // A terminal cuts the end of the line.
      ...(waitsFor === undefined ? [] : [`waiting: ${safe(waitsFor)}`]),
      `${running} running`,
      ...(tokensPerSecond >= 0.5 ? [`${grouped(Math.round(tokensPerSecond))} tokens/s`] : []),
      ...(progress.byParticipant.size > 0 ? [shares(progress.byParticipant)] : []),
      ...(leftMs === undefined || done === total ? [] : [`done ${endText(leftMs, wallMs)}`]),
    ].join(", ");
  }

  #rates({ finishedInRun: finished, outputTokens }: BatchProgress, nowMs: number) {
    const last = this.#samples.at(-1);
    const now = { atMs: nowMs, finished, outputTokens };
    if (last === undefined || nowMs - last.atMs >= sampleMs) this.#samples.push(now);
    while ((this.#samples[1]?.atMs ?? nowMs) < nowMs - rateMs) this.#samples.shift();
    const first = this.#samples[0] ?? now;
    const ms = nowMs - first.atMs;
    if (ms <= 0) return { perMs: 0, tokensPerSecond: 0 };
    return {
      perMs: (finished - first.finished) / ms,
      tokensPerSecond: ((outputTokens - first.outputTokens) / ms) * 1_000,
    };
  }
}

/** `ana 60 % bob 40 %` of results */
export function shares(byParticipant: ReadonlyMap<string, number>): string {
  const all = [...byParticipant].toSorted(([, one], [, other]) => other - one);
  const sum = all.reduce((total, [, count]) => total + count, 0);
  const shown = all
    .slice(0, shownParticipants)
    .map(([id, count]) => `${safe(id)} ${Math.round((count / sum) * 100)} %`);
  const more = all.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join(" ");
}

/** `10,000` */
export function grouped(count: number): string {
  return count.toLocaleString("en-US");
}

function endText(leftMs: number, wallMs: number): string {
  return leftMs < 20 * 3_600_000 ? `at ${clockTime(wallMs + leftMs)}` : `in ${duration(leftMs)}`;
}
