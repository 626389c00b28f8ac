import { HubError } from "../errors.ts";
import type { Participant } from "../domain/participant.ts";

/** A request that waits for a free participant. */
export interface QueueEntry {
  /** whose turn it takes: one address, one turn */
  readonly clientKey: string;
  /** entries with the same key have the same candidates: when one must wait, so must the others */
  readonly selectionKey: string;
  /** the participants that could serve it */
  readonly candidates: readonly Participant[];
  /** It waits for one participant though another may be free: others with its key need not. */
  readonly isHolding: boolean;
  /** Tries again. @returns whether it no longer waits: it runs, or it was refused */
  tryToLeave(): boolean;
}

/**
 * The requests of one room that wait for a slot. Contract §3: first come, first served within
 * a client, turns between clients, and a model that is busy holds up no request for another one.
 */
export class RoomQueue {
  /** by client, the one whose turn is next first */
  readonly #turns = new Map<string, QueueEntry[]>();
  readonly #maxEntries: number;
  #size = 0;
  #isWaking = false;
  #isWakeWanted = false;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * @param atHead - a request that was already on its way once and lost its participant
   * @throws HubError `queue_full`
   */
  add(entry: QueueEntry, atHead: boolean): void {
    if (this.#size >= this.#maxEntries && !atHead) {
      throw new HubError("queue_full", `${this.#size} requests are already queued in this room.`, {
        hint: "Try again shortly, or let more participants join.",
      });
    }
    const waiting = this.#turns.get(entry.clientKey);
    if (atHead) this.#putFirst(entry, waiting ?? []);
    else if (waiting === undefined) this.#turns.set(entry.clientKey, [entry]);
    else waiting.push(entry);
    this.#size++;
    for (const candidate of entry.candidates) candidate.queued++;
  }

  #putFirst(entry: QueueEntry, waiting: QueueEntry[]): void {
    waiting.unshift(entry);
    this.#turns.delete(entry.clientKey);
    const others = [...this.#turns];
    this.#turns.clear();
    for (const [clientKey, entries] of [[entry.clientKey, waiting] as const, ...others]) {
      this.#turns.set(clientKey, entries);
    }
  }

  remove(entry: QueueEntry): void {
    const waiting = this.#turns.get(entry.clientKey);
    const index = waiting?.indexOf(entry) ?? -1;
    if (waiting === undefined || index < 0) return;
    waiting.splice(index, 1);
    if (waiting.length === 0) this.#turns.delete(entry.clientKey);
    this.#size--;
    for (const candidate of entry.candidates) candidate.queued--;
  }

  /** Capacity may be free now. Dispatches waiting requests, one per client and turn, until none can start. */
  wake(): void {
    this.#isWakeWanted = true;
    // An entry that leaves may fail at once and free its slot: that wakes us again from inside.
    if (this.#isWaking) return;
    this.#isWaking = true;
    try {
      while (this.#isWakeWanted) {
        this.#isWakeWanted = false;
        const stuck = new Set<string>();
        while (this.#letOneRoundGo(stuck));
      }
    } finally {
      this.#isWaking = false;
    }
  }

  #letOneRoundGo(stuck: Set<string>): boolean {
    let hasMoved = false;
    for (const [clientKey, waiting] of [...this.#turns]) {
      if (!this.#letOneGo(waiting, stuck)) continue;
      hasMoved = true;
      const left = this.#turns.get(clientKey);
      if (left === undefined) continue;
      this.#turns.delete(clientKey);
      this.#turns.set(clientKey, left);
    }
    return hasMoved;
  }

  #letOneGo(waiting: QueueEntry[], stuck: Set<string>): boolean {
    for (const entry of [...waiting]) {
      if (stuck.has(entry.selectionKey)) continue;
      if (entry.tryToLeave()) {
        this.remove(entry);
        return true;
      }
      if (!entry.isHolding) stuck.add(entry.selectionKey);
    }
    return false;
  }
}

/** One queue per room, made when needed. */
export class RoomQueues {
  readonly #queues = new Map<string, RoomQueue>();
  readonly #maxEntries: number;

  constructor(maxEntriesPerRoom: number) {
    this.#maxEntries = maxEntriesPerRoom;
  }

  of(roomCode: string): RoomQueue {
    let queue = this.#queues.get(roomCode);
    if (queue === undefined) this.#queues.set(roomCode, (queue = new RoomQueue(this.#maxEntries)));
    return queue;
  }

  /** How many requests of a room wait. */
  sizeOf(roomCode: string): number {
    return this.#queues.get(roomCode)?.size ?? 0;
  }

  /** A slot, a participant or a path of this room changed. */
  wake(roomCode: string): void {
    const queue = this.#queues.get(roomCode);
    if (queue === undefined) return;
    if (queue.size > 0) queue.wake();
    // Woken from inside, it may already have made way for a new one.
    if (queue.size === 0 && this.#queues.get(roomCode) === queue) this.#queues.delete(roomCode);
  }
}
