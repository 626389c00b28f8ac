import type { Timer, World } from "./world.ts";

interface Waiting {
  dueMs: number;
  task: () => void;
  everyMs: number | undefined;
}

/** A world whose time passes only when a test says so; its random numbers repeat. */
export class SimulatedWorld implements World {
  /** Sleep: the wall clock advances, the monotonic one does not. */
  asleepMs = 0;
  #nowMs = 0;
  #seed: number;
  #uuids = 0;
  #timers = new Set<Waiting>();
  #immediates = new Set<Waiting>();
  readonly #startMs: number;

  constructor({ seed = 1, startMs = Date.UTC(2026, 0, 1) } = {}) {
    this.#seed = seed;
    this.#startMs = startMs;
  }

  readonly monotonicMs = (): number => {
    return this.#nowMs;
  };

  readonly wallMs = (): number => {
    return this.#startMs + this.#nowMs + this.asleepMs;
  };

  /** Mulberry32. */
  readonly random = (): number => {
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#seed ^ (this.#seed >>> 15), this.#seed | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 0x1_0000_0000;
  };

  readonly randomUUID = (): string => {
    this.#uuids += 1;
    return `00000000-0000-4000-8000-${this.#uuids.toString(16).padStart(12, "0")}`;
  };

  readonly randomBytes = (count: number): Uint8Array => {
    return Uint8Array.from({ length: count }, () => Math.floor(this.random() * 256));
  };

  readonly setTimeout = (task: () => void, ms: number): Timer => {
    return this.#wait(task, ms, undefined);
  };

  readonly clearTimeout = (timer: Timer | undefined): void => {
    this.#timers.delete(timer as Waiting);
  };

  readonly setInterval = (task: () => void, ms: number): Timer => {
    return this.#wait(task, ms, Math.max(1, ms));
  };

  readonly clearInterval = (timer: Timer | undefined): void => {
    this.#timers.delete(timer as Waiting);
  };

  readonly setImmediate = (task: () => void): Timer => {
    const waiting = { dueMs: this.#nowMs, task, everyMs: undefined };
    this.#immediates.add(waiting);
    return waiting;
  };

  readonly clearImmediate = (timer: Timer | undefined): void => {
    this.#immediates.delete(timer as Waiting);
  };

  readonly unref = (timer: Timer): Timer => {
    return timer;
  };

  /** How many timeouts and intervals wait. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Lets so many ms pass: each task runs at its time, and what it awaits is settled before the next one. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await this.#settle();
    for (let next = this.#next(untilMs); next !== undefined; next = this.#next(untilMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      if (next.everyMs === undefined) this.#timers.delete(next);
      else next.dueMs += next.everyMs;
      next.task();
      await this.#settle();
    }
    this.#nowMs = untilMs;
  }

  #wait(task: () => void, ms: number, everyMs: number | undefined): Timer {
    const waiting = { dueMs: this.#nowMs + Math.max(0, ms), task, everyMs };
    this.#timers.add(waiting);
    return waiting;
  }

  /** The one that is due first, of several the one that was set first. */
  #next(untilMs: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const waiting of this.#timers)
      if (waiting.dueMs <= untilMs && waiting.dueMs < (first?.dueMs ?? Infinity)) first = waiting;
    return first;
  }

  /** Runs immediates, and the promises that they settle, until there are none. */
  async #settle(): Promise<void> {
    do {
      const turn = [...this.#immediates];
      this.#immediates.clear();
      for (const { task } of turn) task();
      // A turn of the real event loop: every promise that can settle does.
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#immediates.size > 0);
  }
}
