import type { PasswordKeeper, PasswordVerifier } from "./credentials/passwords.ts";
import type { Registry } from "./domain/registry.ts";
import type { Log } from "./log.ts";
import type { RoomStore, StoredRoom } from "./storage/room-store.ts";

/** Keeps the rooms of a registry in a store: read once at the start, written whenever they change. Contract §1. */
export class RoomKeeper {
  readonly #store: RoomStore;
  readonly #registry: Registry;
  readonly #passwords: Map<string, PasswordVerifier>;
  readonly #passwordKeeper: PasswordKeeper;
  readonly #log: Log;
  #isLoaded = false;
  #saving: Promise<void> = Promise.resolve();
  #isSaveWanted = false;

  constructor(
    store: RoomStore,
    registry: Registry,
    passwords: Map<string, PasswordVerifier>,
    passwordKeeper: PasswordKeeper,
    log: Log,
  ) {
    this.#store = store;
    this.#registry = registry;
    this.#passwords = passwords;
    this.#passwordKeeper = passwordKeeper;
    this.#log = log;
  }

  /** All of the store's rooms or, when it throws, none. @throws what the store throws; TypeError for a digest nobody can check */
  async load(): Promise<void> {
    const all = await this.#store.load();
    const loaded = all.map(({ passwordDigest, ...room }) => ({
      room,
      verifier:
        passwordDigest === undefined ? undefined : this.#passwordKeeper.fromStored(passwordDigest),
    }));
    for (const { room, verifier } of loaded) {
      const isPasswordProtected = verifier !== undefined;
      this.#registry.addRoom({ ...room, isPasswordProtected, participants: new Map() });
      if (isPasswordProtected) this.#passwords.set(room.code, verifier);
    }
    this.#isLoaded = true;
  }

  /** Soon; several changes at once are one write. Nothing before {@link load}: it would erase what was not read. */
  save(): void {
    if (!this.#isLoaded || this.#isSaveWanted) return;
    this.#isSaveWanted = true;
    this.#saving = this.#saving.then(async () => {
      this.#isSaveWanted = false;
      try {
        await this.#store.save(await this.#snapshot());
      } catch (error) {
        this.#log.bug("rooms could not be saved", error);
      }
    });
  }

  async close(): Promise<void> {
    this.save();
    await this.#saving;
    await this.#store.close();
  }

  async #snapshot(): Promise<StoredRoom[]> {
    return Promise.all(
      [...this.#registry.rooms()].map(
        async ({ id, code, name, hostId, createdAt, lastUsedAt }) => ({
          id,
          code,
          name,
          hostId,
          createdAt,
          lastUsedAt,
          passwordDigest: await this.#passwords.get(code)?.toStored(),
        }),
      ),
    );
  }
}
