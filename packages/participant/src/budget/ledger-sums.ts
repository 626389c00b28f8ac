const minuteMs = 60_000;

/** One entry of the ledger. */
export type LedgerEntry =
  | { kind: "spent"; tokens: number }
  /** A request was admitted, by a participant that admits `limit` of them in a minute. */
  | { kind: "started"; atMs: number; limit: number; nonce: string };

/**
 * What the entries of one day amount to. Depends on their order alone, so all processes that read the same file agree:
 * of two requests that start at the same time, on who was first.
 */
export class LedgerSums {
  totalTokens = 0;
  /** epoch ms of the requests admitted in the last minute, oldest first */
  readonly #startsMs: number[];

  /** @param startsMs - of the day before: a minute may include midnight */
  constructor(startsMs: readonly number[] = []) {
    this.#startsMs = [...startsMs];
  }

  get startsMs(): readonly number[] {
    return this.#startsMs;
  }

  /** @returns whether it counts: false for a request that started when its limit had been reached */
  add(entry: LedgerEntry): boolean {
    if (entry.kind === "spent") {
      this.totalTokens += entry.tokens;
      return true;
    }
    const { first, end } = this.#recent(entry.atMs);
    if (end - first >= entry.limit) return false;
    this.#startsMs.splice(0, first);
    const isLate = entry.atMs < (this.#startsMs.at(-1) ?? 0);
    this.#startsMs.push(entry.atMs);
    if (isLate) this.#startsMs.sort((a, b) => a - b);
    return true;
  }

  /**
   * When another request may start.
   *
   * @returns epoch ms; `nowMs` or earlier when it may start now
   */
  nextStartMs(limit: number, nowMs: number): number {
    const { first, end } = this.#recent(nowMs);
    const blocking = end - first < limit ? undefined : this.#startsMs[end - limit];
    return blocking === undefined ? nowMs : blocking + minuteMs;
  }

  /**
   * The part of the starts that counts, without `end`. A clock that was set back leaves starts in the future; those of
   * the next minute count.
   */
  #recent(nowMs: number): { first: number; end: number } {
    const starts = this.#startsMs;
    let first = 0;
    let end = starts.length;
    while (first < end && (starts[first] ?? 0) <= nowMs - minuteMs) first++;
    while (end > first && (starts[end - 1] ?? 0) >= nowMs + minuteMs) end--;
    return { first, end };
  }
}
