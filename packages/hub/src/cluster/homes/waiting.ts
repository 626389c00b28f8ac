import { HubError } from "../../errors.ts";

interface Waiter<Result> {
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
  deadlineMs: number;
}

/** What waits for the home of a room: in order, by code, without a timer. */
export class Waiting<Result> {
  readonly #waiters = new Map<string, Waiter<Result>[]>();

  codes(): string[] {
    return [...this.#waiters.keys()];
  }

  has(code: string): boolean {
    return this.#waiters.has(code);
  }

  /** @throws whatever {@link reject} or {@link expire} get */
  wait(code: string, deadlineMs: number): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const waiters = this.#waiters.get(code) ?? [];
    waiters.push({ resolve, reject, deadlineMs });
    this.#waiters.set(code, waiters);
    return promise;
  }

  resolve(code: string, result: Result): void {
    for (const waiter of this.#take(code)) waiter.resolve(result);
  }

  /** Only the one that has waited longest. */
  resolveFirst(code: string, result: Result): void {
    const [first, ...others] = this.#take(code);
    this.#keep(code, others);
    first?.resolve(result);
  }

  reject(code: string, error: unknown): void {
    for (const waiter of this.#take(code)) waiter.reject(error);
  }

  /** Rejects those whose deadline has passed. */
  expire(nowMs: number, errorOf: (code: string) => unknown): void {
    for (const code of this.codes()) {
      const all = this.#take(code);
      const isDue = ({ deadlineMs }: Waiter<Result>) => nowMs >= deadlineMs;
      const others = all.filter((waiter) => !isDue(waiter));
      this.#keep(code, others);
      for (const waiter of all.filter(isDue)) waiter.reject(errorOf(code));
    }
  }

  #take(code: string): Waiter<Result>[] {
    const waiters = this.#waiters.get(code) ?? [];
    this.#waiters.delete(code);
    return waiters;
  }

  #keep(code: string, waiters: Waiter<Result>[]): void {
    if (waiters.length > 0) this.#waiters.set(code, waiters);
  }
}

export function unavailable(code: string): HubError {
  const message = `The hub that served room ${code} cannot be reached, and no other hub serves it yet.`;
  return new HubError("peer_unavailable", message, { retryAfterMs: 2_000 });
}
