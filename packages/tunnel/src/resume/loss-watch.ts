/** Two pings of this without a pong: a change of networks is noticed within 3 s. */
const SHORTEST_MS = 1_000;
/** When another connection works as soon as this, the first one was only slow. */
const FALSE_ALARM_MS = 2_000;

/**
 * How often to ping while streams run that can be resumed. To give up a connection costs little then, and to wait for the usual
 * pings costs a pause of half a minute. On a line so slow that pongs come late, each false alarm doubles the interval: else
 * the same message would be sent again and again. Reads no clock.
 */
export class LossWatch {
  readonly #longestMs: number;
  #pingIntervalMs: number;
  #nowMs = 0;
  #givenUpMs: number | undefined;

  /** @param longestMs - the usual interval */
  constructor(longestMs: number) {
    this.#longestMs = longestMs;
    this.#pingIntervalMs = Math.min(SHORTEST_MS, longestMs);
  }

  get pingIntervalMs(): number {
    return this.#pingIntervalMs;
  }

  /** @param isGivenUp - for its silence, in this moment */
  tick(nowMs: number, isGivenUp: boolean): void {
    this.#nowMs = nowMs;
    if (isGivenUp) this.#givenUpMs = nowMs;
  }

  resumed(): void {
    if (this.#givenUpMs === undefined) return;
    const isFalseAlarm = this.#nowMs - this.#givenUpMs < FALSE_ALARM_MS;
    this.#givenUpMs = undefined;
    const intervalMs = isFalseAlarm ? 2 * this.#pingIntervalMs : SHORTEST_MS;
    this.#pingIntervalMs = Math.min(intervalMs, this.#longestMs);
  }
}
