import { isFull } from "../../domain/slots.ts";
import type { Participant } from "../../domain/participant.ts";

/** A waiting request whose sender may own candidates. */
export interface OwnEntry {
  /** the participants that could serve it */
  readonly candidates: readonly Participant[];
  /** the candidates whose owner sent it, and who serve their owner first */
  readonly owned: readonly Participant[];
  /**
   * Tries again.
   *
   * @param only - the only participant that it may go to; any when absent
   * @returns whether it has left the queue: it runs, or was refused
   */
  tryToLeave(only?: Participant): boolean;
}

/**
 * Lets the requests of a participant's owner go first, to that participant alone. While others wait for it, at most every
 * second slot that it frees goes to its owner. Contract §3, "Own requests first".
 */
export class OwnFirst<Entry extends OwnEntry> {
  readonly #waiting = new Set<Entry>();
  /** participants whose next slot is for other senders, if they can use it */
  readonly #owed = new Set<Participant>();

  add(entry: Entry): void {
    if (entry.owned.length > 0) this.#waiting.add(entry);
  }

  remove(entry: Entry): void {
    this.#waiting.delete(entry);
  }

  /** @param onGone - an entry no longer waits: removes it */
  letOwnersGo(onGone: (entry: Entry) => void): void {
    for (const entry of [...this.#waiting]) {
      const own = entry.owned.find(
        (one) => !isFull(one) && !this.#owed.has(one) && entry.tryToLeave(one),
      );
      if (own === undefined) continue;
      onGone(entry);
      if (this.#doOthersWait(own)) this.#owed.add(own);
    }
  }

  /** Whether it is an owner's request that comes behind the others this time. */
  isDeferred({ owned }: Entry): boolean {
    return this.#owed.size > 0 && owned.some((one) => this.#owed.has(one) && !isFull(one));
  }

  /** Lets an entry go in its turn. @returns whether it no longer waits */
  goes(entry: Entry): boolean {
    if (this.#owed.size === 0) return entry.tryToLeave();
    const { candidates, owned } = entry;
    const owing = candidates.filter((one) => this.#owed.has(one) && !owned.includes(one));
    const active = owing.map((one) => one.load.active);
    const hasGone = entry.tryToLeave();
    for (const [index, one] of owing.entries()) {
      if (one.load.active > (active[index] ?? 0)) this.#owed.delete(one);
    }
    return hasGone;
  }

  #doOthersWait(participant: Participant): boolean {
    let own = 0;
    for (const { owned } of this.#waiting) if (owned.includes(participant)) own++;
    return participant.load.queued > own;
  }
}
