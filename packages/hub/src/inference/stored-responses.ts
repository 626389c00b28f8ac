import type { Participant } from "../domain/participant.ts";
import type { Room } from "../domain/room.ts";

/**
 * Which participant holds which stored response, per room: only that participant can continue from it. Contract §4.
 * Bounded; the longest unused are dropped first. An entry ends with the room, or with the participant's registration.
 */
export class StoredResponses {
  readonly #maxPerRoom: number;
  readonly #rooms = new WeakMap<Room, Map<string, Participant>>();

  constructor(maxPerRoom: number) {
    this.#maxPerRoom = maxPerRoom;
  }

  /** Response ids with their holders, the longest unused first. */
  *all(room: Room): Iterable<[string, Participant]> {
    yield* this.#rooms.get(room) ?? [];
  }

  remember(room: Room, responseId: string, holder: Participant): void {
    if (this.#maxPerRoom === 0) return;
    const holders = this.#rooms.get(room) ?? new Map<string, Participant>();
    this.#rooms.set(room, holders);
    holders.delete(responseId);
    holders.set(responseId, holder);
    const [oldest = ""] = holders.keys();
    if (holders.size > this.#maxPerRoom) holders.delete(oldest);
  }

  /** @returns undefined when the holder is unknown here, or has left */
  holderOf(room: Room, responseId: string): Participant | undefined {
    const holders = this.#rooms.get(room);
    const holder = holders?.get(responseId);
    if (holders === undefined || holder === undefined) return undefined;
    holders.delete(responseId);
    if (room.participants.get(holder.id) !== holder) return undefined;
    holders.set(responseId, holder);
    return holder;
  }
}
