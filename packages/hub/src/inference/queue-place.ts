import type { Participant } from "../domain/participant.ts";
import type { QueueEntry, RoomQueue } from "./queue.ts";

/** A request that can wait in a queue. */
export interface QueuedRequest extends Pick<QueueEntry, "clientKey" | "selectionKey"> {
  /** See {@link QueueEntry.tryToLeave}. */
  tryToLeave(): boolean;
}

/** One stay of a request in its room's queue. */
export class QueuePlace implements QueueEntry {
  readonly clientKey: string;
  readonly selectionKey: string;
  readonly candidates: readonly Participant[];
  /** ms on the hub's clock */
  readonly sinceMs: number;
  readonly #request: QueuedRequest;
  readonly #queue: RoomQueue;

  /** @param candidates - the participants that could serve it */
  constructor(
    request: QueuedRequest,
    queue: RoomQueue,
    candidates: readonly Participant[],
    nowMs: number,
  ) {
    this.clientKey = request.clientKey;
    this.selectionKey = request.selectionKey;
    this.candidates = candidates;
    this.sinceMs = nowMs;
    this.#request = request;
    this.#queue = queue;
  }

  tryToLeave(): boolean {
    return this.#request.tryToLeave();
  }

  /** @returns how long it stayed, ms */
  leave(nowMs: number): number {
    this.#queue.remove(this);
    return nowMs - this.sinceMs;
  }
}
