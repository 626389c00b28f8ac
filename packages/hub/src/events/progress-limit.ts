const windowMs = 1_000;
const maxPerWindow = 200;

/**
 * How often a room's requests may show progress: 200 times a second, all together. Contract §5, "Detail". One second for
 * all rooms, so that nothing is kept of those that are quiet.
 */
export class ProgressLimit {
  readonly #nowMs: () => number;
  readonly #counts = new Map<string, number>();
  #sinceMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs - monotonic */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Counts one more. @returns false when it is too much */
  allows(roomCode: string): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#sinceMs >= windowMs) {
      this.#sinceMs = nowMs;
      this.#counts.clear();
    }
    const count = (this.#counts.get(roomCode) ?? 0) + 1;
    if (count > maxPerWindow) return false;
    this.#counts.set(roomCode, count);
    return true;
  }
}
