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
  #missedMs = 0;

  constructor(gapMs: number, now: () => number, wallNow: () => number) {
    this.#gapMs = gapMs;
    this.#now = now;
    this.#wallNow = wallNow;
  }

  /** ms on the monotonic clock, and those that it has missed: a clock that counts sleep, as of the last check. */
  get nowMs(): number {
    return this.#now() + this.#missedMs;
  }

  /** Call on every tick. A wall clock that is set forward also looks like sleep; an extra ping does no harm. */
  check(): boolean {
    const nowMs = this.#now();
    const wallMs = this.#wallNow();
    const passedMs = nowMs - (this.#lastMs ?? nowMs);
    const gapMs = Math.max(passedMs, wallMs - this.#lastWallMs);
    const isFirst = this.#lastMs === undefined;
    this.#lastMs = nowMs;
    this.#lastWallMs = wallMs;
    const hasSlept = !isFirst && gapMs > this.#gapMs;
    if (hasSlept) this.#missedMs += gapMs - passedMs;
    return hasSlept;
  }
}
