import type { HubError } from "../errors.ts";

/** A request that has begun and not yet settled. */
export interface RunningRequest {
  /** Looks at its deadlines. */
  tick(nowMs: number): void;
  /** Ends it from outside: the hub stops, or something unforeseen happened. */
  cut(error: HubError): void;
}

/** Every request between its arrival and its end. One sweep looks at all deadlines, so no request owns a timer. */
export class InFlight {
  readonly #running = new Set<RunningRequest>();
  #whenEmpty: (() => void) | undefined;

  get size(): number {
    return this.#running.size;
  }

  add(request: RunningRequest): void {
    this.#running.add(request);
  }

  remove(request: RunningRequest): void {
    this.#running.delete(request);
    if (this.#running.size === 0) this.#whenEmpty?.();
  }

  sweep(nowMs: number): void {
    for (const request of this.#running) request.tick(nowMs);
  }

  /** @returns how many were cut */
  cutAll(error: HubError): number {
    const running = [...this.#running];
    for (const request of running) request.cut(error);
    return running.length;
  }

  /** Resolves when nothing runs any more. */
  async emptied(): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
  }
}
