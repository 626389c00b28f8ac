import type { EntryKind } from "../entry-codec.ts";

export interface Tombstone {
  kind: EntryKind;
  key: string;
  revision: number;
}

const hourMs = 3_600_000;

/**
 * What marks deleted entries in the buckets, until each hub had an hour to see it. A hub that was cut off longer finds out
 * what is missing when it reads all entries again. Each hub removes those that it made, and what others left behind.
 */
export class Tombstones {
  readonly #random: () => number;
  readonly #own = new Set<string>();
  #waiting: (Tombstone & { dueMs: number })[] = [];

  /** @param random - in `[0, 1)` */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** This hub deletes the entry. */
  deleting(kind: EntryKind, key: string): void {
    this.#own.add(`${kind} ${key}`);
  }

  /** @param isReplay - it was there when this hub began to watch: its maker may have stopped since */
  seen(tombstone: Tombstone, isReplay: boolean, nowMs: number): void {
    const isOwn = this.#own.delete(`${tombstone.kind} ${tombstone.key}`);
    if (!isOwn && !isReplay) return;
    const spreadMs = isOwn ? 0 : this.#random() * hourMs;
    this.#waiting.push({ ...tombstone, dueMs: nowMs + hourMs + spreadMs });
  }

  /** Those that are due, each once. */
  takeDue(nowMs: number): Tombstone[] {
    const due = this.#waiting.filter(({ dueMs }) => dueMs <= nowMs);
    if (due.length > 0) this.#waiting = this.#waiting.filter(({ dueMs }) => dueMs > nowMs);
    return due;
  }
}
