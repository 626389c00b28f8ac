import { HubError } from "../errors.ts";
import type { Participant, SlotHolder } from "../domain/participant.ts";
import { OwnFirst } from "./sender/own-first.ts";
import { Turns, type TurnTaker } from "./sender/turns.ts";

/** A request that waits for a free participant. */
export interface QueueEntry extends TurnTaker {
  /** entries with the same key have the same candidates: when one must wait, so must the others */
  readonly selectionKey: string;
  /** the participants that could serve it */
  readonly candidates: readonly Participant[];
  /** It waits for one participant though another may be free: others with its key need not. */
  readonly isHolding: boolean;
  /** those of them whose owner sent it, and wants its own requests first */
  readonly owned: readonly Participant[];
  /** Who could serve it now; absent where that never changes. */
  findCandidates?(): readonly Participant[];
  /** From now on it is for these. Beside {@link findCandidates}. */
  setCandidates?(candidates: readonly Participant[]): void;
  /**
   * Tries again.
   *
   * @param only - the one participant it may go to; any when absent
   * @returns whether it no longer waits: it runs, or it was refused
   */
  tryToLeave(only?: Participant): boolean;
}

/** A look at all participants costs more than one at a queue, and a room changes often. */
const maxLookups = 32;

/**
 * The requests of one room that wait for a slot. Contract §3, "Turns": a model that is busy holds up no request for
 * another one.
 */
export class RoomQueue {
  readonly #turns = new Turns<QueueEntry>();
  readonly #own = new OwnFirst<QueueEntry>();
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

  get isFull(): boolean {
    return this.#size >= this.#maxEntries;
  }

  /**
   * @param atHead - a request that was already on its way once and lost its participant
   * @throws HubError `queue_full`
   */
  add(entry: QueueEntry, atHead: boolean): void {
    if (this.isFull && !atHead) {
      throw new HubError("queue_full", `${this.#size} requests are already queued in this room.`, {
        hint: "Try again shortly, or let more participants join.",
      });
    }
    if (atHead) this.#turns.addFirst(entry);
    else this.#turns.add(entry, holdersOf(entry.candidates));
    this.#own.add(entry);
    this.#size++;
    for (const candidate of entry.candidates) candidate.load.queued++;
  }

  /** All that wait, in the order of their turns as it is now. */
  inOrder(): QueueEntry[] {
    return this.#turns.inOrder();
  }

  remove(entry: QueueEntry): void {
    if (!this.#turns.remove(entry)) return;
    this.#own.remove(entry);
    this.#size--;
    for (const candidate of entry.candidates) candidate.load.queued--;
  }

  /** Other participants can serve requests now: those that wait are for them, too. */
  participantsChanged(): void {
    const found = new Map<string, readonly Participant[]>();
    for (const entry of this.#turns.inOrder()) {
      if (entry.isHolding || entry.findCandidates === undefined) continue;
      let candidates = found.get(entry.selectionKey);
      if (candidates === undefined) {
        if (found.size >= maxLookups) break;
        candidates = entry.findCandidates();
        found.set(entry.selectionKey, candidates);
      }
      // With none it is refused when it tries.
      if (candidates.length === 0 || areSame(candidates, entry.candidates)) continue;
      this.#setCandidates(entry, candidates);
    }
  }

  #setCandidates(entry: QueueEntry, candidates: readonly Participant[]): void {
    this.#own.remove(entry);
    for (const candidate of entry.candidates) candidate.load.queued--;
    entry.setCandidates?.(candidates);
    for (const candidate of entry.candidates) candidate.load.queued++;
    this.#own.add(entry);
  }

  /** Capacity may be free now. Dispatches waiting requests by their turns until none can start. */
  wake(): void {
    this.#isWakeWanted = true;
    // An entry that leaves may fail at once and free its slot: that wakes us again from inside.
    if (this.#isWaking) return;
    this.#isWaking = true;
    try {
      while (this.#isWakeWanted) {
        this.#isWakeWanted = false;
        this.#wakeOnce();
      }
    } finally {
      this.#isWaking = false;
    }
  }

  #wakeOnce(): void {
    const stuck = new Set<string>();
    const goes = (entry: QueueEntry) => this.#goes(entry, stuck);
    const goesNow = (entry: QueueEntry) => !this.#own.isDeferred(entry) && goes(entry);
    do this.#own.letOwnersGo((entry) => this.remove(entry));
    while (this.#turns.letOneRoundGo(goesNow));
    while (this.#turns.letOneRoundGo(goes));
  }

  #goes(entry: QueueEntry, stuck: Set<string>): boolean {
    if (stuck.has(entry.selectionKey)) return false;
    if (this.#own.goes(entry)) {
      this.remove(entry);
      return true;
    }
    if (!entry.isHolding) stuck.add(entry.selectionKey);
    return false;
  }
}

function areSame(some: readonly Participant[], others: readonly Participant[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}

/** Of the slots that a candidate could give, those of its machine included. */
function holdersOf(candidates: readonly Participant[]): SlotHolder[] {
  const sharing = new Set(candidates);
  // Each machine once, however many of the candidates are in front of it.
  const machines = new Set(candidates.map(({ load: { machine } }) => machine));
  for (const machine of machines) for (const one of machine?.members ?? []) sharing.add(one);
  return [...sharing].flatMap(({ load: { runningFor } }) => runningFor);
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
    if (queue === undefined) {
      queue = new RoomQueue(this.#maxEntries);
      this.#queues.set(roomCode, queue);
    }
    return queue;
  }

  /** The requests of a room that wait, in the order of their turns as it is now. */
  waitingIn(roomCode: string): readonly QueueEntry[] {
    return this.#queues.get(roomCode)?.inOrder() ?? [];
  }

  /** How many requests of a room wait. */
  sizeOf(roomCode: string): number {
    return this.#queues.get(roomCode)?.size ?? 0;
  }

  /** Other participants of this room can serve requests now: those that wait are for them, too. */
  participantsChanged(roomCode: string): void {
    this.#queues.get(roomCode)?.participantsChanged();
    this.wake(roomCode);
  }

  /** A slot of this room is free, or may be. */
  wake(roomCode: string): void {
    const queue = this.#queues.get(roomCode);
    if (queue === undefined) return;
    if (queue.size > 0) queue.wake();
    // Woken from inside, it may already have made way for a new one.
    if (queue.size === 0 && this.#queues.get(roomCode) === queue) this.#queues.delete(roomCode);
  }
}
