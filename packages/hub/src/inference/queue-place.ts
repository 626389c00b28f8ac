import type { Participant } from "../domain/participant.ts";
import type { Hold } from "../domain/selection-query.ts";
import type { TurnTaker } from "./sender/turns.ts";
import type { QueueEntry, RoomQueue } from "./queue.ts";

/** A request that can wait in a queue. */
export interface QueuedRequest extends Pick<QueueEntry, "selectionKey"> {
  readonly sender: TurnTaker;
  /** Its sender owns this participant, which serves its owner first. */
  owns(participant: Participant): boolean;
  /** See {@link QueueEntry.tryToLeave}. */
  tryToLeave(only?: Participant): boolean;
}

/** One stay of a request in its room's queue. */
export class QueuePlace implements QueueEntry {
  readonly address: string;
  readonly person: string;
  readonly selectionKey: string;
  readonly candidates: readonly Participant[];
  readonly owned: readonly Participant[];
  /** ms on the hub's clock */
  readonly sinceMs: number;
  readonly #request: QueuedRequest;
  readonly #queue: RoomQueue;
  #hold: Hold | undefined;

  /** @param candidates - the participants that could serve it */
  constructor(
    request: QueuedRequest,
    queue: RoomQueue,
    candidates: readonly Participant[],
    nowMs: number,
  ) {
    this.address = request.sender.address;
    this.person = request.sender.person;
    this.selectionKey = request.selectionKey;
    this.candidates = candidates;
    this.owned = candidates.filter((candidate) => request.owns(candidate));
    this.sinceMs = nowMs;
    this.#request = request;
    this.#queue = queue;
  }

  /** 1 for the next of its room, by the turns as they are now. */
  get number(): number {
    return this.#queue.inOrder().indexOf(this) + 1;
  }

  get isHolding(): boolean {
    return this.#hold !== undefined;
  }

  /** @param hold - for which participant it waits, when others are free */
  wait(hold: Hold | undefined): void {
    if (this.#hold !== undefined) this.#hold.participant.awaited--;
    if (hold !== undefined) hold.participant.awaited++;
    this.#hold = hold;
  }

  /** It has waited long enough for one participant. */
  isHoldOver(nowMs: number): boolean {
    return this.#hold !== undefined && nowMs >= this.#hold.untilMs;
  }

  tryToLeave(only?: Participant): boolean {
    return this.#request.tryToLeave(only);
  }

  /** @returns how long it stayed, ms */
  leave(nowMs: number): number {
    this.wait(undefined);
    this.#queue.remove(this);
    return nowMs - this.sinceMs;
  }
}
