import { Roster, type RosterMember } from "@roomhub/protocol";
import type { HubError } from "../errors.ts";

/** A request that has begun and not yet settled. */
export interface RunningRequest extends RosterMember {
  /** Looks at its deadlines. */
  tick(nowMs: number): void;
  /** Ends it from outside: the hub stops, or something unforeseen happened. */
  cut(error: HubError): void;
}

/** Every request between its arrival and its end. One sweep looks at all deadlines, so no request owns a timer. */
export class InFlight {
  readonly #running = new Roster<RunningRequest>();
  #whenEmpty: (() => void) | undefined;

  get size(): number {
    return this.#running.size;
  }

  add(request: RunningRequest): void {
    this.#running.add(request);
  }

  remove(request: RunningRequest): void {
    this.#running.remove(request);
    if (this.#running.size === 0) this.#whenEmpty?.();
  }

  sweep(nowMs: number): void {
    this.#running.forEach((request) => request.tick(nowMs));
  }

  /** @returns how many were cut */
  cutAll(error: HubError): number {
    const count = this.#running.size;
    this.#running.forEach((request) => request.cut(error));
    return count;
  }

  /** Resolves when nothing runs any more. */
  async emptied(): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
  }
}
