import type { CallOutcome } from "./client-call.ts";

/** One goal and what was measured of it. */
export interface Figure {
  what: string;
  goal: string;
  measured: string;
  isMet: boolean;
  /** a time or an amount of memory: a miss is meaningful on a machine that does nothing else, in the full run */
  needsFreeMachine: boolean;
}

/** @throws Error naming what did not hold */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** @throws Error naming the first call that did not complete, and why */
export function mustComplete(outcomes: readonly CallOutcome[]): void {
  for (const { tag, end, code, message } of outcomes) {
    must(
      end === "complete",
      `${tag} ended ${end} ${code}${message === undefined ? "" : `: ${message}`}`,
    );
  }
}

/** The smallest value that `share` of all are not above. @param share - `0.99` for p99 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function pauseMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** With room to spare the collector waits for long; a small heap shows what is really held. For the hub's environment. */
export const smallHeap = { NODE_OPTIONS: "--max-old-space-size=64 --max-semi-space-size=4" };

/** Streams end with their tunnel, as those of an agent that cannot resume. For the hub's environment. */
export const withoutResuming = { ROOMHUB_RESUME_MS: "0" };

export const kib = 1024;
export const mib = 1024 * 1024;

export function inMib(bytes: number): string {
  return `${(bytes / mib).toFixed(1)} MiB`;
}

export function inMs(ms: number): string {
  return ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`;
}
