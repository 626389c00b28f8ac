/**
 * Detects that the machine slept: the gap between two checks is too long. The monotonic clock stops during sleep on Linux
 * and macOS and continues on Windows, so both clocks are read.
 */
export class WakeWatch {
  readonly #gapMs: number;
  readonly #now: () => number;
  readonly #wallNow: () => number;
  #lastMs: number | undefined;
  #lastWallMs = 0;

  constructor(gapMs: number, now: () => number, wallNow: () => number) {
    this.#gapMs = gapMs;
    this.#now = now;
    this.#wallNow = wallNow;
  }

  /** Call on every tick. A wall clock that is set forward also looks like sleep; an extra ping does no harm. */
  check(): boolean {
    const nowMs = this.#now();
    const wallMs = this.#wallNow();
    const gapMs = Math.max(nowMs - (this.#lastMs ?? nowMs), wallMs - this.#lastWallMs);
    const isFirst = this.#lastMs === undefined;
    this.#lastMs = nowMs;
    this.#lastWallMs = wallMs;
    return !isFirst && gapMs > this.#gapMs;
  }
}
