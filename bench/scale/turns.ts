/** What a process handles one by one costs more than what it handles together. */
export interface TurnCost {
  /** µs of one turn */
  micros: number;
  /** what arrives within it shares a turn */
  delayMs: number;
}

/** @param perSecond - of all that arrives */
export function turnsPerSecond(perSecond: number, delayMs: number): number {
  return perSecond / (1 + (perSecond * delayMs) / 1_000);
}

/** Of a turn, what each arrival has to bear. */
export function turnShareMicros({ micros, delayMs }: TurnCost, perSecond: number): number {
  return perSecond === 0 ? 0 : (micros * turnsPerSecond(perSecond, delayMs)) / perSecond;
}

/** µs for each arrival, when so many arrive per second. */
export interface CostAtRate {
  perSecond: number;
  micros: number;
}

/**
 * The turn that fits what was measured at several rates best, with the same cost of its own for each arrival: least
 * squares, relative to what was measured.
 */
export function fitTurn(seen: readonly CostAtRate[]): TurnCost {
  let best = { error: Number.POSITIVE_INFINITY, turn: { micros: 0, delayMs: 1 } };
  for (let delayMs = 0.05; delayMs <= 50; delayMs *= 1.1) {
    const shares = seen.map(({ perSecond }) => turnsPerSecond(perSecond, delayMs) / perSecond);
    const { slope, base } = fitLine(
      shares,
      seen.map(({ micros }) => micros),
    );
    const micros = Math.max(0, slope);
    const error = seen.reduce((sum, { micros: measured }, at) => {
      return sum + ((base + micros * (shares[at] ?? 0)) / measured - 1) ** 2;
    }, 0);
    // An arrival has a cost of its own.
    if (base > 0 && error < best.error) best = { error, turn: { micros, delayMs } };
  }
  return best.turn;
}

function fitLine(xs: readonly number[], ys: readonly number[]): { slope: number; base: number } {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(xs), mean(ys)];
  let [covariance, variance] = [0, 0];
  for (const [at, x] of xs.entries()) {
    covariance += (x - meanX) * ((ys[at] ?? 0) - meanY);
    variance += (x - meanX) ** 2;
  }
  const slope = variance === 0 ? 0 : covariance / variance;
  return { slope, base: meanY - slope * meanX };
}
