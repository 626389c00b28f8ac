import type { Measurement, Seconds } from "./measurements/measurement.ts";
import type { BenchWorld } from "./processes/world.ts";

/** One goal and what was measured. Smaller is better in all of them. */
export interface BenchFigure {
  what: string;
  value: number;
  /** the value may be at most this; undefined where there is nothing to compare it with */
  goal: number | undefined;
  /** `×` for a ratio of two things measured in the same run; only those compare across machines */
  unit: "×" | "ms" | "µs" | "s" | "KB" | "MB" | "points" | "%" | "";
}

export type RowOutcome =
  | { kind: "measured"; figures: BenchFigure[]; seen: string[] }
  | { kind: "skipped"; why: string };

/** One line of goals and how it is measured. */
export interface Row {
  id: string;
  title: string;
  /** without the shared measurement */
  seconds: Seconds;
  /** shared with other rows */
  measurement?: Measurement<unknown> | undefined;
  run(world: BenchWorld): Promise<RowOutcome>;
}

export function measured(figures: BenchFigure[], seen: string[] = []): RowOutcome {
  return { kind: "measured", figures, seen };
}

export function isMet({ value, goal }: BenchFigure): boolean {
  return goal === undefined || value <= goal;
}

export function skipped(what: string): RowOutcome {
  return { kind: "skipped", why: `${what} is not installed` };
}
