/**
 * Notices that the machine slept: two looks that should be a second apart are not. The monotonic clock stands still
 * during sleep on Linux and macOS and goes on under Windows, so both clocks are read.
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

  /** Called at every beat. A wall clock set forward looks like sleep too; one ping too many does no harm. */
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
