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

interface RoomKeeperDeps {
  store: RoomStore;
  registry: Registry;
  roomPasswords: Map<string, RoomPassword>;
  passwordKeeper: PasswordKeeper;
  log: Log;
}

/** Keeps the rooms of a registry in a store: read once at the start, written whenever they change. Contract §1. */
export class RoomKeeper {
  readonly #deps: RoomKeeperDeps;
  #isLoaded = false;
  /** the last write, running or waiting */
  #last: Promise<void> = Promise.resolve();
  /** the write that has not read the rooms yet */
  #waiting: Promise<void> | undefined;

  constructor(deps: RoomKeeperDeps) {
    this.#deps = deps;
  }

  /**
   * Loads all of the store's rooms or, when it throws, none. @throws what the store throws; TypeError for a digest that
   * cannot be checked
   */
  async load(): Promise<void> {
    const all = await this.#deps.store.load();
    const loaded = all.map((stored) => ({
      room: roomFromStored(stored),
      password:
        stored.passwordDigest === undefined
          ? undefined
          : this.#deps.passwordKeeper.fromStored(stored.passwordDigest),
    }));
    for (const { room, password } of loaded) {
      this.#deps.registry.addRoom(room);
      if (password !== undefined) this.#deps.roomPasswords.set(room.code, password);
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
    await this.#deps.store.close();
  }

  async #write(): Promise<void> {
    try {
      const rooms = this.#snapshot();
      await this.#deps.store.save(rooms);
      for (const room of rooms) noteStored(this.#deps.registry.findRoom(room.code), room);
    } catch (error) {
      this.#deps.log.bug("rooms could not be saved", error);
    }
  }

  /** Without protected rooms whose digest is still being made: they would come back without protection. */
  #snapshot(): StoredRoom[] {
    return [...this.#deps.registry.allRooms()]
      .filter((room) => !room.isPasswordProtected || this.#deps.roomPasswords.has(room.code))
      .map((room) => storedRoomOf(room, this.#deps.roomPasswords.get(room.code)?.stored));
  }
}
