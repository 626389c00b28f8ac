import { availableParallelism, loadavg } from "node:os";
import { summaryFigures } from "./render.ts";
import type { Report } from "./run-scenario.ts";
import type { Figure } from "./scenario.ts";

/** What one run came to, as `--write` writes and `--read` reads it. */
export interface RunResult {
  /** what a reader of the figures should know, as `--note` gave it */
  note: string | undefined;
  machine: { cores: number; node: string; loadBefore: number; loadAfter: number };
  scenarios: (Pick<Report, "kind" | "notes" | "missed" | "calls" | "seconds"> & {
    id: string;
    title: string;
  })[];
  /** in the order they are shown */
  figures: Figure[];
}

/** @param loadBefore - the load average before the run; times mean little on a machine that does something else */
export function createRunResult(
  reports: readonly Report[],
  loadBefore: number,
  note: string | undefined,
): RunResult {
  return {
    note,
    machine: {
      ...{ cores: availableParallelism(), node: process.versions.node },
      ...{ loadBefore, loadAfter: loadNow() },
    },
    scenarios: reports.map(({ scenario: { id, title }, ...report }) => {
      const { kind, notes, missed, calls, seconds } = report;
      return { id, title, kind, notes, missed, calls, seconds };
    }),
    figures: [...summaryFigures(reports), ...reports.flatMap(({ figures }) => figures)],
  };
}

/** Of the last minute. */
export function loadNow(): number {
  return loadavg()[0] ?? 0;
}
