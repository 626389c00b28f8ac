interface ThrottleLimits {
  /** how many at once */
  burst: number;
  /** one more is allowed in each */
  intervalMs: number;
  /** keys remembered at once; 10,000 when left out */
  maxKeys?: number | undefined;
}

/** Allows each key `burst` at once, then one per interval. Reads no clock: `nowMs` is monotonic. */
export class Throttle {
  readonly #burst: number;
  readonly #intervalMs: number;
  readonly #maxKeys: number;
  /** when the bucket of a key is full again, by the last record; a moment in the past says nothing */
  readonly #fullAtMs = new Map<string, number>();

  constructor({ burst, intervalMs, maxKeys = 10_000 }: ThrottleLimits) {
    this.#burst = burst;
    this.#intervalMs = intervalMs;
    this.#maxKeys = maxKeys;
  }

  isAllowed(key: string, nowMs: number): boolean {
    return this.retryAfterMs(key, nowMs) === 0;
  }

  /** 0 while one more is allowed */
  retryAfterMs(key: string, nowMs: number): number {
    return Math.max(0, this.#untilFullMs(key, nowMs) - (this.#burst - 1) * this.#intervalMs);
  }

  /** What still counts, from 0 to `burst`. */
  spent(key: string, nowMs: number): number {
    const untilFullMs = this.#untilFullMs(key, nowMs);
    return this.#intervalMs === 0 ? 0 : Math.ceil(untilFullMs / this.#intervalMs);
  }

  record(key: string, nowMs: number): void {
    this.restore(key, this.#untilFullMs(key, nowMs) + this.#intervalMs, nowMs);
  }

  /** The keys with this prefix that have used some of their allowance, and the ms until they have all of it again. */
  all(prefix: string, nowMs: number): [key: string, untilFullMs: number][] {
    return [...this.#fullAtMs].flatMap(([key, fullAt]) =>
      key.startsWith(prefix) && fullAt > nowMs ? [[key, fullAt - nowMs]] : [],
    );
  }

  /** Takes one entry of what {@link all} returned at another hub. */
  restore(key: string, untilFullMs: number, nowMs: number): void {
    // Deleted first, so that the map stays ordered by the last record.
    this.#fullAtMs.delete(key);
    if (this.#fullAtMs.size >= this.#maxKeys) this.#forgetOldest(nowMs);
    this.#fullAtMs.set(key, nowMs + Math.min(untilFullMs, this.#burst * this.#intervalMs));
  }

  #untilFullMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#fullAtMs.get(key) ?? nowMs) - nowMs);
  }

  /** At least one key, and all keys behind it whose buckets are full again. */
  #forgetOldest(nowMs: number): void {
    let isFirst = true;
    for (const [key, fullAt] of this.#fullAtMs) {
      if (!isFirst && fullAt > nowMs) return;
      this.#fullAtMs.delete(key);
      isFirst = false;
    }
  }
}
