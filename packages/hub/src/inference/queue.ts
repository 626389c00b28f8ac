import { HubError } from "../errors.ts";
import type { Participant, SlotHolder } from "../domain/participant.ts";
import { type OwnEntry, OwnFirst } from "./sender/own-first.ts";
import { Turns, type TurnTaker } from "./sender/turns.ts";

/** A request that waits for a free participant. */
export interface QueueEntry extends TurnTaker, OwnEntry {
  /** It comes after all that are not of a batch. Contract §3, "Batches". */
  readonly isBatch: boolean;
  /** entries with the same key have the same candidates: when one must wait, so must the others */
  readonly selectionKey: string;
  /** It waits for one participant though another may be free: other entries with its key need not wait. */
  readonly isHolding: boolean;
  /** The participants that could serve it now; none where it would be refused. */
  findCandidates(): readonly Participant[];
  /** Replaces the candidates: for {@link RoomQueue.setCandidates} alone. */
  setCandidates(candidates: readonly Participant[]): void;
}

/** Finding candidates costs more than reading a queue, and a room changes often. */
const maxLookups = 32;

/**
 * The requests of one room that wait for a slot. Contract §3, "Turns": a model that is busy holds up no request for
 * another one.
 */
export class RoomQueue {
  readonly #interactive = new Lane();
  readonly #batch = new Lane();
  readonly #maxEntries: number;
  #isWaking = false;

  constructor(maxEntries: number) {
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#interactive.size + this.#batch.size;
  }

  /** @param isBatch - requests of batches have as many places of their own */
  sizeFor(isBatch: boolean): number {
    return this.#lane(isBatch).size;
  }

  isFullFor(isBatch: boolean): boolean {
    return this.#lane(isBatch).size >= this.#maxEntries;
  }

  #lane(isBatch: boolean): Lane {
    return isBatch ? this.#batch : this.#interactive;
  }

  /**
   * @param atHead - for a request that already had a participant and lost it
   * @throws HubError `queue_full`
   */
  add(entry: QueueEntry, atHead: boolean): void {
    const { isBatch } = entry;
    const lane = this.#lane(isBatch);
    if (this.isFullFor(isBatch) && !atHead) {
      const requests = isBatch ? "requests of batches" : "requests";
      throw new HubError(
        "queue_full",
        `${lane.size} ${requests} are already queued in this room.`,
        {
          hint: "Try again shortly, or let more participants join.",
        },
      );
    }
    if (atHead) lane.turns.addFirst(entry);
    else lane.turns.add(entry, holdersOf(entry.candidates));
    lane.own.add(entry);
    lane.size++;
    countWaiting(entry, 1);
  }

  /** All waiting entries, in the current order of their turns. */
  inOrder(): QueueEntry[] {
    return [...this.#interactive.turns.inOrder(), ...this.#batch.turns.inOrder()];
  }

  remove(entry: QueueEntry): void {
    const lane = this.#lane(entry.isBatch);
    if (!lane.turns.remove(entry)) return;
    lane.own.remove(entry);
    lane.size--;
    countWaiting(entry, -1);
  }

  /** The participants of the room have changed: updates the candidates of waiting entries. */
  participantsChanged(): void {
    const found = new Map<string, readonly Participant[]>();
    for (const entry of this.inOrder()) {
      if (entry.isHolding) continue;
      let candidates = found.get(entry.selectionKey);
      if (candidates === undefined) {
        if (found.size >= maxLookups) continue;
        candidates = entry.findCandidates();
        found.set(entry.selectionKey, candidates);
      }
      // Without candidates it is refused when it tries.
      if (candidates.length > 0) this.setCandidates(entry, candidates);
    }
  }

  /** Other participants could serve a waiting entry than before. */
  setCandidates(entry: QueueEntry, candidates: readonly Participant[]): void {
    if (areSame(candidates, entry.candidates)) return;
    const { own } = this.#lane(entry.isBatch);
    own.remove(entry);
    countWaiting(entry, -1);
    entry.setCandidates(candidates);
    countWaiting(entry, 1);
    own.add(entry);
  }

  /**
   * Capacity may be free now. Dispatches waiting requests by their turns until none can start. The slot of an entry that fails
   * as it leaves was free for those before it and is free for those after it: nothing has to be tried again.
   */
  wake(): void {
    // Such an entry calls this method again from inside.
    if (this.#isWaking) return;
    this.#isWaking = true;
    try {
      this.#wakeLane(this.#interactive);
      if (this.#batch.size > 0) this.#wakeLane(this.#batch);
    } finally {
      this.#isWaking = false;
    }
  }

  #wakeLane({ turns, own }: Lane): void {
    const stuck = new Set<string>();
    const goes = (entry: QueueEntry) => this.#goes(entry, own, stuck);
    const goesNow = (entry: QueueEntry) => !own.isDeferred(entry) && goes(entry);
    do own.letOwnersGo((entry) => this.remove(entry));
    while (turns.letOneRoundGo(goesNow));
    while (turns.letOneRoundGo(goes));
  }

  #goes(entry: QueueEntry, own: Lane["own"], stuck: Set<string>): boolean {
    if (stuck.has(entry.selectionKey)) return false;
    if (own.goes(entry)) {
      this.remove(entry);
      return true;
    }
    if (!entry.isHolding) stuck.add(entry.selectionKey);
    return false;
  }
}

/** Entries of one priority, with turns of their own. */
class Lane {
  readonly turns = new Turns<QueueEntry>();
  readonly own = new OwnFirst<QueueEntry>();
  size = 0;
}

function countWaiting({ candidates, isBatch }: QueueEntry, difference: 1 | -1): void {
  for (const { load } of candidates) load[isBatch ? "batchQueued" : "queued"] += difference;
}

function areSame(some: readonly Participant[], others: readonly Participant[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}

/** The holders of slots that the candidates could free, including those of their machines. */
function holdersOf(candidates: readonly Participant[]): SlotHolder[] {
  const sharing = new Set(candidates);
  // Each machine once, however many candidates share it.
  const machines = new Set(candidates.map(({ load: { machine } }) => machine));
  for (const machine of machines) for (const one of machine?.members ?? []) sharing.add(one);
  return [...sharing].flatMap(({ load: { runningFor } }) => runningFor);
}

/** One queue per room, created when needed. */
export class RoomQueues {
  readonly #queues = new Map<string, RoomQueue>();
  readonly #maxEntries: number;

  constructor(maxEntriesPerRoom: number) {
    this.#maxEntries = maxEntriesPerRoom;
  }

  of(roomCode: string): RoomQueue {
    let queue = this.#queues.get(roomCode);
    if (queue === undefined) {
      queue = new RoomQueue(this.#maxEntries);
      this.#queues.set(roomCode, queue);
    }
    return queue;
  }

  /** The waiting requests of a room, in the current order of their turns. */
  waitingIn(roomCode: string): readonly QueueEntry[] {
    return this.#queues.get(roomCode)?.inOrder() ?? [];
  }

  /** How many requests of a room wait. */
  sizeOf(roomCode: string, isBatch = false): number {
    return this.#queues.get(roomCode)?.sizeFor(isBatch) ?? 0;
  }

  /** Time alone may free slots for batches. */
  wakeBatches(): void {
    for (const [roomCode, queue] of this.#queues) if (queue.sizeFor(true) > 0) this.wake(roomCode);
  }

  /** The participants of the room have changed: updates candidates and wakes the queue. */
  participantsChanged(roomCode: string): void {
    this.#queues.get(roomCode)?.participantsChanged();
    this.wake(roomCode);
  }

  /** A slot of the room may be free. */
  wake(roomCode: string): void {
    const queue = this.#queues.get(roomCode);
    if (queue === undefined) return;
    if (queue.size > 0) queue.wake();
    // Woken from inside, it may already have been replaced.
    if (queue.size === 0 && this.#queues.get(roomCode) === queue) this.#queues.delete(roomCode);
  }
}
