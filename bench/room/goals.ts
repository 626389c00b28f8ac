import { median } from "../figures/spread.ts";
import type { RowReport } from "../report/results.ts";
import type { BenchFigure } from "../row.ts";
import type { Run, VariantRuns } from "./comparison.ts";

/** The goals of one variant, each a median over its runs. */
export function goalsOf({ variant, runs }: VariantRuns, index: number): RowReport {
  const figures = variant.isBurst ? burstGoals(runs) : placementGoals(runs, variant.hasSessions);
  return {
    id: `R${index + 1}`,
    title: variant.name,
    seconds: 0,
    kind: "measured",
    figures,
    seen: [],
  };
}

function placementGoals(runs: readonly Run[], hasSessions: boolean): BenchFigure[] {
  const of = (figure: (run: Run) => number) => median(runs.map(figure));
  return [
    {
      what: "makespan, roomhub / oracle",
      value: of(({ figures: { roomhub, oracle } }) => roomhub.makespanMs / oracle.makespanMs),
      ...{ goal: 1.15, unit: "×" },
    },
    {
      what: "p95 to the first token, roomhub / oracle",
      value: of(({ figures: { roomhub, oracle } }) => roomhub.firstP95Ms / oracle.firstP95Ms),
      ...{ goal: 1.3, unit: "×" },
    },
    {
      what: "warm share below the oracle's",
      value: of(({ figures: { roomhub, oracle } }) => 100 * (oracle.warmShare - roomhub.warmShare)),
      ...{ goal: hasSessions ? 5 : 10, unit: "points" },
    },
    {
      what: "requests that waited longer than computing anew takes",
      value: 100 * mean(runs.map(({ figures }) => figures.roomhub.overheldShare)),
      ...{ goal: 1, unit: "%" },
    },
  ];
}

function burstGoals(runs: readonly Run[]): BenchFigure[] {
  return [
    {
      what: "makespan, roomhub / no idle slot",
      value: median(runs.map(({ figures, idealMs }) => figures.roomhub.makespanMs / idealMs)),
      ...{ goal: 1.1, unit: "×" },
    },
    {
      what: "longest wait beside a free slot",
      value: Math.max(...runs.map(({ figures }) => figures.roomhub.longestHeldMs)),
      ...{ goal: 50, unit: "ms" },
    },
  ];
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
