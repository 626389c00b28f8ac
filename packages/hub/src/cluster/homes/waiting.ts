import { HubError } from "../../errors.ts";

interface Waiter<Result> {
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  deadlineMs: number;
}

/** What waits for the home of a room: in order, by code, without a timer. */
export class Waiting<Result> {
  readonly #waiters = new Map<string, Set<Waiter<Result>>>();

  codes(): string[] {
    return [...this.#waiters.keys()];
  }

  has(code: string): boolean {
    return this.#waiters.has(code);
  }

  /** @throws whatever {@link reject} or {@link expire} get, or the signal's reason */
  wait(code: string, deadlineMs: number, signal: AbortSignal | undefined): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = () => this.#remove(code, waiter)?.reject(signal?.reason);
      const end = () => signal?.removeEventListener("abort", onAbort);
      const waiter: Waiter<Result> = {
        deadlineMs,
        resolve: (result) => {
          end();
          resolve(result);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      signal?.addEventListener("abort", onAbort);
      const waiters = this.#waiters.get(code) ?? new Set();
      waiters.add(waiter);
      this.#waiters.set(code, waiters);
    });
  }

  resolve(code: string, result: Result): void {
    const waiters = this.#waiters.get(code) ?? [];
    this.#waiters.delete(code);
    for (const waiter of waiters) waiter.resolve(result);
  }

  /** Only the one that has waited longest. */
  resolveFirst(code: string, result: Result): void {
    const [first] = this.#waiters.get(code) ?? [];
    if (first !== undefined) this.#remove(code, first)?.resolve(result);
  }

  reject(code: string, error: unknown): void {
    const waiters = this.#waiters.get(code) ?? [];
    this.#waiters.delete(code);
    for (const waiter of waiters) waiter.reject(error);
  }

  /** Rejects those whose deadline has passed. */
  expire(nowMs: number, errorOf: (code: string) => unknown): void {
    for (const [code, waiters] of this.#waiters) {
      for (const waiter of waiters) {
        if (nowMs >= waiter.deadlineMs) this.#remove(code, waiter)?.reject(errorOf(code));
      }
    }
  }

  #remove(code: string, waiter: Waiter<Result>): Waiter<Result> | undefined {
    const waiters = this.#waiters.get(code);
    if (waiters?.delete(waiter) !== true) return undefined;
    if (waiters.size === 0) this.#waiters.delete(code);
    return waiter;
  }
}

export function clusterAway(code: string): HubError {
  const message = `No hub serves room ${code} yet, and this hub cannot reach its cluster at the moment.`;
  const hint = "Rooms that are in use go on. Try again in some seconds.";
  return new HubError("cluster_unavailable", message, { hint });
}

export function unavailable(code: string): HubError {
  const message = `The hub that served room ${code} cannot be reached, and no other hub serves it yet.`;
  return new HubError("peer_unavailable", message, { retryAfterMs: 2_000 });
}
