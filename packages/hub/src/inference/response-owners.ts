import type { Participant } from "../domain/participant.ts";
import type { Room } from "../domain/room.ts";

/**
 * Which participant made which response, per room: only it can go on from there. Contract §4. Bounded; the longest unused
 * go first. Dies with the room and does not outlive the participant's registration.
 */
export class ResponseOwners {
  readonly #maxPerRoom: number;
  readonly #rooms = new WeakMap<Room, Map<string, Participant>>();

  constructor(maxPerRoom: number) {
    this.#maxPerRoom = maxPerRoom;
  }

  /** Response ids with their makers, the longest unused first. */
  *all(room: Room): Iterable<[string, Participant]> {
    yield* this.#rooms.get(room) ?? [];
  }

  remember(room: Room, responseId: string, maker: Participant): void {
    if (this.#maxPerRoom === 0) return;
    const makers = this.#rooms.get(room) ?? new Map<string, Participant>();
    this.#rooms.set(room, makers);
    makers.delete(responseId);
    makers.set(responseId, maker);
    if (makers.size <= this.#maxPerRoom) return;
    for (const oldest of makers.keys()) {
      makers.delete(oldest);
      break;
    }
  }

  /** @returns undefined when its owner is unknown here, or has left */
  ownerOf(room: Room, responseId: string): Participant | undefined {
    const makers = this.#rooms.get(room);
    const maker = makers?.get(responseId);
    if (makers === undefined || maker === undefined) return undefined;
    makers.delete(responseId);
    if (room.participants.get(maker.id) !== maker) return undefined;
    makers.set(responseId, maker);
    return maker;
  }
}
