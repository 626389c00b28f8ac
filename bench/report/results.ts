import { mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, release } from "node:os";
import { dirname } from "node:path";
import type { BenchFigure, RowOutcome } from "../row.ts";

/** The result of one row. */
export type RowReport = { id: string; title: string; seconds: number } & (
  | RowOutcome
  /** It could not be measured, or a response was not the expected one. */
  | { kind: "broken"; why: string }
);

/** One run, as it is written to its file. */
export interface Results {
  date: string;
  isQuick: boolean;
  machine: { cores: number; cpu: string; kernel: string; node: string };
  /** of the minute before and after: times mean little on a busy machine */
  loadAverage: [number, number];
  seconds: number;
  rows: RowReport[];
}

export function machineFacts(): Results["machine"] {
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    kernel: release(),
    node: process.version,
  };
}

export function loadAverage(): number {
  return loadavg()[0] ?? Number.NaN;
}

export async function writeResults(path: string, results: Results): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify(results, undefined, 2)}\n`);
}

/** @throws Error when there is no such file, or something else in it */
export async function readResults(path: string): Promise<Results> {
  const results = JSON.parse(await readFile(path, "utf8")) as Partial<Results>;
  if (!Array.isArray(results.rows)) throw new Error(`${path} has no results of a benchmark`);
  return results as Results;
}

/** Ratios of one run vary by about this much on a quiet machine. */
const spread = 0.15;

export interface Comparison {
  rowId: string;
  what: string;
  before: number;
  now: number;
  unit: string;
  /** Only ratios are judged: everything else depends on the machine. */
  isRegression: boolean;
}

/** Figure by figure, those that are in both. */
export function compare(before: Results, now: Results): Comparison[] {
  const earlier = new Map(figuresOf(before).map((one) => [keyOf(one), one.figure]));
  return figuresOf(now).flatMap((one) => {
    const then = earlier.get(keyOf(one));
    if (then === undefined) return [];
    const { what, value, unit } = one.figure;
    const isRegression = unit === "×" && value > then.value * (1 + spread);
    return [{ rowId: one.rowId, what, before: then.value, now: value, unit, isRegression }];
  });
}

function figuresOf({ rows }: Results): { rowId: string; figure: BenchFigure }[] {
  return rows.flatMap((row) =>
    row.kind === "measured" ? row.figures.map((figure) => ({ rowId: row.id, figure })) : [],
  );
}

function keyOf({ rowId, figure }: { rowId: string; figure: BenchFigure }): string {
  return `${rowId} ${figure.what}`;
}
