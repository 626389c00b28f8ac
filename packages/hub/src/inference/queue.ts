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
  /** It waits for one participant though another may be free: other entries with its key need not wait. */
  readonly isHolding: boolean;
  /** the candidates whose owner sent it, and who serve their owner first */
  readonly owned: readonly Participant[];
  /** The participants that could serve it now; absent where they never change. */
  findCandidates?(): readonly Participant[];
  /** Replaces the candidates. Present where {@link findCandidates} is. */
  setCandidates?(candidates: readonly Participant[]): void;
  /**
   * Tries again.
   *
   * @param only - the only participant that it may go to; any when absent
   * @returns whether it has left the queue: it runs, or was refused
   */
  tryToLeave(only?: Participant): boolean;
}

/** Finding candidates costs more than reading a queue, and a room changes often. */
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
   * @param atHead - for a request that already had a participant and lost it
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

  /** All waiting entries, in the current order of their turns. */
  inOrder(): QueueEntry[] {
    return this.#turns.inOrder();
  }

  remove(entry: QueueEntry): void {
    if (!this.#turns.remove(entry)) return;
    this.#own.remove(entry);
    this.#size--;
    for (const candidate of entry.candidates) candidate.load.queued--;
  }

  /** The participants of the room have changed: updates the candidates of waiting entries. */
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
      // Without candidates it is refused when it tries.
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
    // An entry that leaves may fail at once and free its slot, which calls this method again from inside.
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
  sizeOf(roomCode: string): number {
    return this.#queues.get(roomCode)?.size ?? 0;
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
