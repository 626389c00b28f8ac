export interface TimeSource {
  /** ms, monotonic */
  monotonicMs(): number;
  /** epoch ms */
  wallMs(): number;
}

/** A timer of a {@link World}; only that world can clear it. */
export type Timer = object | number;

/**
 * Time, timers and randomness. What needs them takes a world as an argument, so that a test can run hours of it in
 * milliseconds, the same way each time. Its members are named after what they do on a platform: `systemWorld`. They do
 * not use `this`, so a copy of a world may replace some of them.
 */
export interface World extends TimeSource {
  /** 0 ≤ x < 1; not for secrets */
  random(): number;
  randomUUID(): string;
  /** unpredictable: also for secrets */
  randomBytes(count: number): Uint8Array;
  setTimeout(task: () => void, ms: number): Timer;
  clearTimeout(timer: Timer | undefined): void;
  setInterval(task: () => void, ms: number): Timer;
  clearInterval(timer: Timer | undefined): void;
  /** Runs the task once the current turn of the event loop has read its sockets. */
  setImmediate(task: () => void): Timer;
  clearImmediate(timer: Timer | undefined): void;
  /** Lets the process end while the timer waits. @returns the timer */
  unref(timer: Timer): Timer;
}

/** Resolves after so many ms, or as soon as `signal` aborts. Never rejects. */
export function pause(world: World, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = () => {
      world.clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = world.setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}

/** A uniform integer in `[0, bound)`, unpredictable. @param bound - at most 256 */
export function randomBelow(world: World, bound: number): number {
  // The bytes above the highest multiple would favour small numbers.
  const end = 256 - (256 % bound);
  for (;;) {
    const [byte = end] = world.randomBytes(1);
    if (byte < end) return byte % bound;
  }
}

/** As `AbortSignal.timeout()`: aborts with a `TimeoutError` after so many ms, and keeps no process running. */
export function timeoutSignal(world: World, ms: number): AbortSignal {
  const controller = new AbortController();
  const abort = () =>
    controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  world.unref(world.setTimeout(abort, ms));
  return controller.signal;
}
