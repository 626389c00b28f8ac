import type { RoomKey } from "./key-table.ts";

interface Minute {
  endsMs: number;
  requests: number;
}

/** What keys with a limit sent within the last minute, each from its first request in it. Contract §9. */
export class RequestMinutes {
  /** by the id of the key, the one that ends first in front */
  readonly #minutes = new Map<string, Minute>();

  /**
   * Counts a request, unless the limit of its key is reached.
   *
   * @param nowMs - monotonic
   * @returns in how many ms the next is allowed; 0 for a request that was counted
   */
  count({ id }: Pick<RoomKey, "id">, limit: number, nowMs: number): number {
    this.#forgetEnded(nowMs);
    const minute = this.#minutes.get(id);
    if (minute === undefined) {
      this.#minutes.set(id, { endsMs: nowMs + 60_000, requests: 1 });
      return 0;
    }
    if (minute.requests >= limit) return minute.endsMs - nowMs;
    minute.requests++;
    return 0;
  }

  #forgetEnded(nowMs: number): void {
    for (const [id, { endsMs }] of this.#minutes) {
      if (endsMs > nowMs) return;
      this.#minutes.delete(id);
    }
  }
}
