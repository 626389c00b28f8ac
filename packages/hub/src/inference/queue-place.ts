import type { Participant } from "../domain/participant.ts";
import type { Hold } from "../domain/selection-query.ts";
import type { TurnTaker } from "./sender/turns.ts";
import type { QueueEntry, RoomQueue } from "./queue.ts";

/** A request that can wait in a queue. */
export interface QueuedRequest extends Pick<QueueEntry, "selectionKey"> {
  readonly sender: TurnTaker;
  readonly isBatch: boolean;
  /** Whether its sender owns this participant, which serves its owner first. */
  owns(participant: Participant): boolean;
  /** The participants that could serve it now; none where it would be refused. */
  candidates(): readonly Participant[];
  /** See {@link QueueEntry.tryToLeave}. */
  tryToLeave(only?: Participant): boolean;
}

/** The place of a waiting request in its room's queue. */
export class QueuePlace implements QueueEntry {
  readonly address: string;
  readonly person: string;
  readonly selectionKey: string;
  readonly isBatch: boolean;
  #candidates: readonly Participant[] = [];
  #owned: readonly Participant[] = [];
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
    this.isBatch = request.isBatch;
    this.sinceMs = nowMs;
    this.#request = request;
    this.#queue = queue;
    this.setCandidates(candidates);
  }

  get candidates(): readonly Participant[] {
    return this.#candidates;
  }

  get owned(): readonly Participant[] {
    return this.#owned;
  }

  findCandidates(): readonly Participant[] {
    return this.#request.candidates();
  }

  setCandidates(candidates: readonly Participant[]): void {
    this.#candidates = candidates;
    this.#owned = candidates.filter((candidate) => this.#request.owns(candidate));
  }

  /** 1 for the next request of the room, by the current turns */
  get number(): number {
    return this.#queue.inOrder().indexOf(this) + 1;
  }

  get isHolding(): boolean {
    return this.#hold !== undefined;
  }

  /** @param hold - the participant that it waits for, though others are free */
  wait(hold: Hold | undefined): void {
    if (this.#hold !== undefined) this.#hold.participant.load.awaited--;
    if (hold !== undefined) hold.participant.load.awaited++;
    this.#hold = hold;
  }

  /** Whether it has waited long enough for one participant. */
  isHoldOver(nowMs: number): boolean {
    return this.#hold !== undefined && nowMs >= this.#hold.untilMs;
  }

  tryToLeave(only?: Participant): boolean {
    return this.#request.tryToLeave(only);
  }

  /** @returns how long it waited, ms */
  leave(nowMs: number): number {
    this.wait(undefined);
    this.#queue.remove(this);
    return nowMs - this.sinceMs;
  }
}
