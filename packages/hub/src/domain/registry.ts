import { normaliseRoomCode } from "@roomhub/protocol";
import { HubError } from "../errors.ts";
import type { Participant } from "./participant.ts";
import type { Room } from "./room.ts";
import { closest } from "./suggest.ts";

/** Codes of removed rooms that are remembered. */
const maxRemoved = 10_000;

/** All rooms of one hub and their participants. Holds, counts and finds; decides nothing. */
export class Registry {
  readonly #rooms = new Map<string, Room>();
  /** rooms being created: they have a place and a code, and are not found yet */
  readonly #reserved = new Map<string, Room>();
  /** codes of rooms that were here, the oldest first */
  readonly #removed = new Set<string>();
  #participantCount = 0;

  /** Reserved rooms included. */
  get roomCount(): number {
    return this.#rooms.size + this.#reserved.size;
  }

  get participantCount(): number {
    return this.#participantCount;
  }

  /** In creation order. */
  rooms(): Iterable<Room> {
    return this.#rooms.values();
  }

  *participants(): Iterable<Participant> {
    for (const room of this.#rooms.values()) yield* room.participants.values();
  }

  /** All rooms, reserved ones included. */
  *allRooms(): Iterable<Room> {
    yield* this.#rooms.values();
    yield* this.#reserved.values();
  }

  hasCode(code: string): boolean {
    return this.#rooms.has(code) || this.#reserved.has(code) || this.#removed.has(code);
  }

  /** Reserves the code of a room that is about to be added, or removed. */
  reserve(room: Room): void {
    this.#reserved.set(room.code, room);
  }

  addRoom(room: Room): void {
    this.#reserved.delete(room.code);
    this.#removed.delete(room.code);
    this.#rooms.set(room.code, room);
  }

  removeRoom(room: Room): void {
    this.#reserved.delete(room.code);
    if (!this.#rooms.delete(room.code)) return;
    this.#participantCount -= room.participants.size;
    this.#removed.add(room.code);
    const [oldest] = this.#removed;
    if (this.#removed.size > maxRemoved && oldest !== undefined) this.#removed.delete(oldest);
  }

  /** @param code - in any letter case */
  findRoom(code: string): Room | undefined {
    return this.#rooms.get(normaliseRoomCode(code));
  }

  /** @throws HubError `room_not_found`, which is final for a room that was here: a hub without its state does not know */
  room(code: string): Room {
    const room = this.findRoom(code);
    if (room !== undefined) return room;
    const normal = normaliseRoomCode(code);
    if (this.#removed.has(normal)) throw roomDeleted(normal);
    throw new HubError("room_not_found", `There is no room ${shown(code)} on this hub.`, {
      hint: this.#roomMeantBy(code),
    });
  }

  /** A hint of an open room, for a code that is a room's name, has something around it, or has a typing error. */
  #roomMeantBy(text: string): string {
    const bare = this.findRoom(text.replace(/[^A-Za-z0-9]/g, ""));
    const open = [...this.#rooms.values()].filter((room) => !room.isClosed);
    if (bare?.isClosed === false) return `Write ${bare.code}, with nothing around it.`;
    const name = text.trim().normalize("NFC").toLowerCase();
    const called = open.filter((room) => room.name.toLowerCase() === name);
    if (called.length > 0) {
      const codes = called.slice(0, 3).map((room) => room.code);
      return `That is a room's name; its code is ${codes.join(" or ")}.`;
    }
    const near = closest(
      text,
      open.map((room) => room.code),
    );
    return near === undefined ? "roomhub room list" : `Did you mean ${near}? roomhub room list`;
  }

  /** @throws HubError `participant_not_found` */
  participant(room: Room, id: string): Participant {
    const participant = room.participants.get(id);
    if (participant !== undefined) return participant;
    throw new HubError(
      "participant_not_found",
      `There is no participant ${shown(id)} in room ${room.code}.`,
      { hint: `roomhub participants ${room.code}` },
    );
  }

  add(room: Room, participant: Participant): void {
    if (!room.participants.has(participant.id)) this.#participantCount++;
    room.participants.set(participant.id, participant);
    participant.learned.index = room.placing.serving;
    room.placing.serving.invalidate();
  }

  remove(room: Room, participant: Participant): void {
    if (room.participants.get(participant.id) !== participant) return;
    room.participants.delete(participant.id);
    room.placing.serving.invalidate();
    room.placing.warm.forget(participant);
    this.#participantCount--;
  }

  /** Whether this registration is still the current one of its id. */
  isCurrent(participant: Participant): boolean {
    return this.#rooms.get(participant.roomCode)?.participants.get(participant.id) === participant;
  }
}

/** The error of a room that was here, at which agents stop. Contract §9. */
export function roomDeleted(code: string): HubError {
  return new HubError("room_not_found", `Room ${code} was deleted.`, {
    hint: "Ask its host for another one, or choose one: roomhub room list",
    isFinal: true,
  });
}

/** A name from a URL, short and quoted, for a message. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
