import type { PasswordKeeper, RoomPassword } from "./credentials/passwords.ts";
import type { Registry } from "./domain/registry.ts";
import type { Log } from "./log.ts";
import {
  type RoomStore,
  type StoredRoom,
  noteStored,
  roomFromStored,
  storedRoomOf,
} from "./storage/room-store.ts";

/** Keeps the rooms of a registry in a store: read once at the start, written whenever they change. Contract §1. */
export class RoomKeeper {
  readonly #store: RoomStore;
  readonly #registry: Registry;
  readonly #passwords: Map<string, RoomPassword>;
  readonly #passwordKeeper: PasswordKeeper;
  readonly #log: Log;
  #isLoaded = false;
  /** the last write, running or waiting */
  #last: Promise<void> = Promise.resolve();
  /** the write that has not read the rooms yet */
  #waiting: Promise<void> | undefined;

  constructor(
    store: RoomStore,
    registry: Registry,
    passwords: Map<string, RoomPassword>,
    passwordKeeper: PasswordKeeper,
    log: Log,
  ) {
    this.#store = store;
    this.#registry = registry;
    this.#passwords = passwords;
    this.#passwordKeeper = passwordKeeper;
    this.#log = log;
  }

  /**
   * Loads all of the store's rooms or, when it throws, none. @throws what the store throws; TypeError for a digest that
   * cannot be checked
   */
  async load(): Promise<void> {
    const all = await this.#store.load();
    const loaded = all.map((stored) => ({
      room: roomFromStored(stored),
      password:
        stored.passwordDigest === undefined
          ? undefined
          : this.#passwordKeeper.fromStored(stored.passwordDigest),
    }));
    for (const { room, password } of loaded) {
      this.#registry.addRoom(room);
      if (password !== undefined) this.#passwords.set(room.code, password);
    }
    this.#isLoaded = true;
  }

  /**
   * Writes what the registry holds; changes during a write are one write after it. Does nothing before {@link load},
   * which would erase the rooms that were not read.
   *
   * @returns never rejects; resolves when the current rooms are in the store, or the write was given up
   */
  save(): Promise<void> {
    if (!this.#isLoaded) return Promise.resolve();
    this.#waiting ??= this.#last.then(() => {
      this.#waiting = undefined;
      return this.#write();
    });
    this.#last = this.#waiting;
    return this.#waiting;
  }

  /** The room is new or has changed. Never rejects, as {@link save}. */
  async keep(): Promise<true> {
    await this.save();
    return true;
  }

  /** The room was dropped. */
  drop(): Promise<void> {
    return this.save();
  }

  isOurs(): true {
    return true;
  }

  async close(): Promise<void> {
    await this.save();
    await this.#store.close();
  }

  async #write(): Promise<void> {
    try {
      const rooms = this.#snapshot();
      await this.#store.save(rooms);
      for (const room of rooms) noteStored(this.#registry.findRoom(room.code), room);
    } catch (error) {
      this.#log.bug("rooms could not be saved", error);
    }
  }

  /** Without protected rooms whose digest is still being made: they would come back without protection. */
  #snapshot(): StoredRoom[] {
    return [...this.#registry.allRooms()]
      .filter((room) => !room.isPasswordProtected || this.#passwords.has(room.code))
      .map((room) => storedRoomOf(room, this.#passwords.get(room.code)?.stored));
  }
}
