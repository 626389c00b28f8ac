import type { Row } from "./row.ts";

/** One row of a run, and about how long it will take. */
export interface PlannedRow {
  row: Row;
  seconds: number;
}

/** The time of a shared measurement is counted in the first row that uses it. */
export function planOf(rows: readonly Row[], isQuick: boolean): PlannedRow[] {
  const kind = isQuick ? "quick" : "full";
  return rows.map((row, index) => {
    const { measurement } = row;
    const isFirst = !rows.slice(0, index).some((earlier) => earlier.measurement === measurement);
    const shared = measurement !== undefined && isFirst ? measurement.seconds[kind] : 0;
    return { row, seconds: row.seconds[kind] + shared };
  });
}
