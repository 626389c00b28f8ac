/** How many requests a lane sends at once until it knows the slots of the room. */
const firstWindow = 2;
const maxWindow = 256;
/** With this many lost requests waiting to be sent again, no new ones are sent. */
const maxLost = 256;

const firstPauseMs = 500;
const longestPauseMs = 60_000;
/** Where a refusal names a longer time, the lane still tries again after this one. */
const longestRetryAfterMs = 600_000;

/** A request that was lost is sent again after this, then four times as long, and so on. */
const firstDelayMs = 2_000;
const longestDelayMs = 300_000;

export interface LaneOptions {
  /** undefined: as many as the room takes */
  fixedWindow: number | undefined;
  /** 0 ≤ x < 1 */
  random: () => number;
}

/**
 * The requests for one model: which is next, how many run or wait at the room, and when to try again.
 *
 * How many the room takes follows from how long responses say that they waited there. By Little's law the share of a request's
 * time that it waited, times the requests at the room, is how many wait. One should, so that a slot that becomes free is
 * taken at once; more would only be in the way of others.
 */
export class Lane {
  readonly #options: LaneOptions;
  #window: number;
  #slots: number | undefined;
  /** when the window was last adjusted; the three fields below count results since then */
  #changedMs = 0;
  #waitingSum = 0;
  #waitingCount = 0;
  #wasFull = false;
  #running = 0;
  #refusals = 0;
  #resumesAtMs = 0;
  /** refused, to be sent before others */
  readonly #refused: number[] = [];
  readonly #lost: { number: number; dueMs: number }[] = [];
  readonly #attempts = new Map<number, number>();

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#window = options.fixedWindow ?? firstWindow;
  }

  /** Requests at the room. */
  get running(): number {
    return this.#running;
  }

  /** The most requests that are sent to the room at once now. */
  get window(): number {
    return this.#window;
  }

  /** @param fresh - the next request that was never sent @returns undefined when none may be sent now */
  take(nowMs: number, fresh: () => number | undefined): number | undefined {
    if (nowMs < this.#resumesAtMs || this.#running >= this.#window) return undefined;
    const number = this.#next(nowMs, fresh);
    if (number === undefined) return undefined;
    if (++this.#running === this.#window) this.#wasFull = true;
    return number;
  }

  /** When the next request may be sent; undefined when one may be sent only after a response. */
  wakeMs(nowMs: number): number | undefined {
    if (nowMs < this.#resumesAtMs) return this.#resumesAtMs;
    if (this.#running >= this.#window) return undefined;
    const dues = this.#lost.map(({ dueMs }) => dueMs);
    return dues.length === 0 ? undefined : Math.min(...dues);
  }

  /**
   * A request has its result.
   *
   * @param queueMs - for which it waited at the room; undefined when that is unknown
   * @param sentMs - when it was sent
   */
  finish(number: number, queueMs: number | undefined, sentMs: number, nowMs: number): void {
    const atRoom = this.#running--;
    this.#attempts.delete(number);
    const wasRefused = this.#refusals > 0;
    this.#refusals = 0;
    if (this.#options.fixedWindow !== undefined) return;
    if (wasRefused) this.#setWindow(Math.max(this.#window, (this.#slots ?? 0) + 1), nowMs);
    // A request sent before the window changed says nothing about the new window.
    if (queueMs === undefined || sentMs < this.#changedMs) return;
    this.#waitingSum += atRoom * Math.min(1, queueMs / Math.max(1, nowMs - sentMs));
    if (++this.#waitingCount < this.#window) return;
    const waiting = this.#waitingSum / this.#waitingCount;
    if (waiting > 1.5 + this.#window / 8) {
      this.#setWindow(this.#window - Math.floor(waiting - 1), nowMs);
    } else if (waiting < 0.5 && this.#wasFull) {
      // Where the list has slots, more than those are rare.
      const more = this.#slots === undefined ? Math.ceil(this.#window / 2) : 1;
      this.#setWindow(this.#window + more, nowMs);
    } else {
      this.#setWindow(this.#window, nowMs);
    }
  }

  /** A request did not run: no other is sent for a while, then one, and it is the first. */
  refuse(number: number, nowMs: number, retryAfterMs = 0): void {
    this.#running--;
    this.#refused.push(number);
    // Requests that were at the room at the same time are refused for the same reason.
    if (nowMs < this.#resumesAtMs) return;
    const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** this.#refusals);
    const waitMs = Math.max(pauseMs, Math.min(longestRetryAfterMs, retryAfterMs));
    this.#resumesAtMs = nowMs + waitMs * (1 + this.#options.random() / 4);
    this.#refusals++;
    if (this.#options.fixedWindow === undefined) {
      this.#setWindow(Math.floor(this.#window / 2), nowMs);
    }
  }

  /** A request was lost while it ran. @returns false when it was sent `maxAttempts` times: it is not sent again */
  lose(number: number, nowMs: number, maxAttempts: number): boolean {
    this.#running--;
    const attempts = (this.#attempts.get(number) ?? 0) + 1;
    if (attempts >= maxAttempts) {
      this.#attempts.delete(number);
      return false;
    }
    this.#attempts.set(number, attempts);
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 4 ** (attempts - 1));
    this.#lost.push({ number, dueMs: nowMs + delayMs * (1 + this.#options.random() / 4) });
    return true;
  }

  /** What the room's list says: how many requests for the model run there at once; undefined for a model it does not list. */
  setSlots(slots: number | undefined, nowMs: number): void {
    const before = this.#slots;
    this.#slots = slots;
    if (slots === undefined || slots === before) return;
    // The reason for the refusals may be gone.
    if (slots > (before ?? 0)) this.#resumesAtMs = 0;
    if (this.#options.fixedWindow === undefined) {
      this.#setWindow(slots + 1, nowMs);
    }
  }

  #setWindow(window: number, nowMs: number): void {
    this.#window = Math.min(maxWindow, Math.max(1, window));
    this.#changedMs = nowMs;
    this.#waitingSum = 0;
    this.#waitingCount = 0;
    this.#wasFull = false;
  }

  #next(nowMs: number, fresh: () => number | undefined): number | undefined {
    const refused = this.#refused.shift();
    if (refused !== undefined) return refused;
    const due = this.#lost.findIndex(({ dueMs }) => dueMs <= nowMs);
    if (due >= 0) return this.#lost.splice(due, 1)[0]?.number;
    return this.#lost.length < maxLost ? fresh() : undefined;
  }
}
