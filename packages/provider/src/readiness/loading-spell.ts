const minPauseMs = 1_000;
/** The longest pause between two looks at a server that loads. */
export const MAX_LOADING_PAUSE_MS = 15_000;

/** A period in which the server loads its model, from the first 503 to the end of the last. Contract §3. Reads no clock. */
export class LoadingSpell {
  #sinceMs: number | undefined;
  /** since a call's 503: until then the model list does not end the period */
  #heldUntilMs = 0;
  /** how long the latest 503 at a call holds; 0 after a call that succeeded */
  #holdMs = 0;
  #before: { sinceMs: number; endedMs: number } | undefined;

  /** undefined when it does not load */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** The model list responded 503. */
  seenAtList(nowMs: number): void {
    this.#begin(nowMs);
    this.#heldUntilMs = nowMs;
  }

  /**
   * A call received a 503. A server whose list is fine meanwhile would be ready again after every look: the pauses
   * double, from 1 s to 15 s, until a call succeeds.
   */
  seenAtCall(nowMs: number): void {
    // Concurrent requests are refused together: count one refusal.
    if (this.#sinceMs !== undefined && nowMs < this.#heldUntilMs) return;
    this.#begin(nowMs);
    this.#holdMs = clamp(2 * this.#holdMs);
    this.#heldUntilMs = nowMs + this.#holdMs;
  }

  /** The model list no longer responds 503. Without effect while a call's 503 holds. */
  endAtList(nowMs: number): void {
    if (this.#sinceMs === undefined || nowMs < this.#heldUntilMs) return;
    this.#before = { sinceMs: this.#sinceMs, endedMs: nowMs };
    this.#sinceMs = undefined;
  }

  /** The server is away, or calls no longer get a 503. */
  end(): void {
    this.#sinceMs = undefined;
  }

  callSucceeded(): void {
    this.#sinceMs = undefined;
    this.#before = undefined;
    this.#holdMs = 0;
  }

  /** @param limitMs - after this time the probes are as rare as possible */
  lookInMs(nowMs: number, limitMs: number): number {
    if (nowMs < this.#heldUntilMs) return this.#heldUntilMs - nowMs;
    const forMs = nowMs - (this.#sinceMs ?? nowMs);
    return forMs > limitMs ? MAX_LOADING_PAUSE_MS : clamp(Math.round(forMs / 15));
  }

  /** A short moment of readiness between two 503 belongs to the same period. */
  #begin(nowMs: number): void {
    if (this.#sinceMs !== undefined) return;
    const before = this.#before;
    const isSame = before !== undefined && nowMs - before.endedMs <= MAX_LOADING_PAUSE_MS;
    this.#sinceMs = isSame ? before.sinceMs : nowMs;
  }
}

function clamp(pauseMs: number): number {
  return Math.min(Math.max(pauseMs, minPauseMs), MAX_LOADING_PAUSE_MS);
}
