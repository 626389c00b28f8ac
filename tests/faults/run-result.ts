import { availableParallelism, loadavg } from "node:os";
import type { Report } from "./run-scenario.ts";
import type { Figure } from "./figure.ts";

/** The result of one run, as `--write` writes and `--read` reads it. */
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

function summaryFigures(reports: readonly Report[]): Figure[] {
  const sum = (of: (report: Report) => number) =>
    reports.reduce((total, report) => total + of(report), 0);
  const violations = sum((report) => report.violations);
  const skipped = sum(({ kind }) => (kind === "skipped" ? 1 : 0));
  const broken = sum(({ kind }) => (kind === "broken" ? 1 : 0));
  return [
    {
      what: `ledger violations, ${sum(({ calls }) => calls)} client calls`,
      ...{ goal: "0", measured: String(violations), isMet: violations === 0 },
      needsFreeMachine: false,
    },
    {
      what: `scenarios, ${skipped} skipped`,
      goal: "all hold",
      measured: `${reports.length - skipped - broken} of ${reports.length - skipped}`,
      isMet: broken === 0,
      needsFreeMachine: false,
    },
  ];
}

/** Of the last minute. */
export function loadNow(): number {
  return loadavg()[0] ?? 0;
}
