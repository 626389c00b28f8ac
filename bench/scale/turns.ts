/** What a process handles one by one costs more than what it handles together. */
interface TurnCost {
  /** µs of one turn */
  micros: number;
  /** what arrives within it shares a turn */
  delayMs: number;
}

/** @param perSecond - of all that arrives */
export function turnsPerSecond(perSecond: number, delayMs: number): number {
  return perSecond / (1 + (perSecond * delayMs) / 1_000);
}

/** What a process had to do in a second, and what that took. */
export interface WorkSeen {
  /** µs of CPU */
  micros: number;
  /** of each kind of work */
  units: readonly number[];
  /** what came to each of its queues, and shares turns there */
  arrivals: number;
  /** connections that are served apart; 1 for a hub */
  queues: number;
  /** of the machine: a turn begins later where several processes want the same core */
  processesPerCore: number;
}

export interface FittedCosts {
  /** µs of each kind of work */
  units: readonly number[];
  turn: TurnCost;
}

/** What a process takes varies by so much from one second to the next. */
const noiseMicros = 20_000;

/** The costs that fit all that was seen best: least squares, relative to what was seen, none below 0. */
export function fitCosts(seen: readonly WorkSeen[]): FittedCosts {
  let best = { error: Number.POSITIVE_INFINITY, costs: [] as number[], delayMs: 1 };
  for (let delayMs = 0.05; delayMs <= 50; delayMs *= 1.1) {
    const rows = seen.map(({ micros, units, arrivals, queues, processesPerCore }) => {
      const turns = queues * turnsPerSecond(arrivals, delayMs * processesPerCore);
      const scale = micros + noiseMicros;
      return { values: [...units, turns].map((value) => value / scale), target: micros / scale };
    });
    const { error, costs } = leastSquares(rows);
    if (error < best.error) best = { error, costs, delayMs };
  }
  const { costs, delayMs } = best;
  return { units: costs.slice(0, -1), turn: { micros: costs.at(-1) ?? 0, delayMs } };
}

interface FittedRow {
  values: readonly number[];
  target: number;
}

/** Costs with which each row comes close to its target: of all choices of columns the best without a negative one. */
function leastSquares(rows: readonly FittedRow[]): { error: number; costs: number[] } {
  const width = rows[0]?.values.length ?? 0;
  let best = { error: Number.POSITIVE_INFINITY, costs: Array.from({ length: width }, () => 0) };
  for (let choice = 1; choice < 2 ** width; choice++) {
    const columns = Array.from({ length: width }, (_, at) => at).filter(
      (at) => (choice & (1 << at)) !== 0,
    );
    const chosen = solve(
      rows.map(({ values, target }) => ({ values: columns.map((at) => values[at] ?? 0), target })),
    );
    if (chosen === undefined || chosen.some((cost) => cost < 0)) continue;
    const costs = Array.from({ length: width }, () => 0);
    for (const [index, at] of columns.entries()) costs[at] = chosen[index] ?? 0;
    const error = rows.reduce((sum, { values, target }) => {
      return (
        sum + (values.reduce((all, value, at) => all + value * (costs[at] ?? 0), 0) - target) ** 2
      );
    }, 0);
    if (error < best.error) best = { error, costs };
  }
  return best;
}

/** The normal equations of `values · costs = target`; undefined when they have no single solution. */
function solve(rows: readonly FittedRow[]): number[] | undefined {
  const width = rows[0]?.values.length ?? 0;
  const sumOf = (read: (row: FittedRow) => number) => rows.reduce((sum, row) => sum + read(row), 0);
  const table = Array.from({ length: width }, (_, at) => [
    ...Array.from({ length: width }, (_each, other) =>
      sumOf(({ values }) => (values[at] ?? 0) * (values[other] ?? 0)),
    ),
    sumOf(({ values, target }) => (values[at] ?? 0) * target),
  ]);
  for (let at = 0; at < width; at++) {
    const pivot = table[at]?.[at] ?? 0;
    if (Math.abs(pivot) < 1e-18) return undefined;
    for (const [index, row] of table.entries()) {
      if (index === at) continue;
      const factor = (row[at] ?? 0) / pivot;
      for (let column = at; column <= width; column++)
        row[column] = (row[column] ?? 0) - factor * (table[at]?.[column] ?? 0);
    }
  }
  return table.map((row, at) => (row[width] ?? 0) / (row[at] ?? 1));
}
