import type { HubIdentity } from "../domain/hub-identity.ts";
import type { StoredRegistration } from "../domain/stored-registration.ts";
import { decodeRoom, type StoredRoom } from "../storage/room-store.ts";
import type { ClusterDirectory, DirectoryEntry, DirectoryListener } from "./directory.ts";
import {
  decodeHome,
  decodeKey,
  decodePresence,
  decodeRegistrationEntry,
  encodeHome,
  encodeKey,
  encodeRegistrationEntry,
  encodeRoomEntry,
  type EntryKind,
  type WatchedKind,
} from "./entry-codec.ts";
import type { Home, StoredHome } from "./homes/room-home.ts";
import type { HubPresence } from "./hubs/hub-presence.ts";

/** An entry as it is stored. */
export interface StoredEntry {
  key: string;
  /** undefined when it was deleted */
  text: string | undefined;
  revision: number;
}

/** A directory of texts by kind and key, wherever these are: its calls, and what it reports of them. */
export abstract class EntryDirectory implements ClusterDirectory {
  upSinceMs: number | undefined;
  warning: string | undefined;
  protected listener: DirectoryListener | undefined;
  /** undefined until the hub announced itself */
  protected own: HubIdentity | undefined;
  #presence: (() => HubPresence) | undefined;
  /** revisions of the entries that exist, as last seen, by key */
  readonly #known: Record<WatchedKind, Map<string, number>> = {
    rooms: new Map(),
    hubs: new Map(),
    homes: new Map(),
  };

  abstract open(listener: DirectoryListener): Promise<void>;
  abstract close(): Promise<void>;
  protected abstract warn(message: string): void;
  /** Stores the {@link nextBeat} if there is one, and the directory is up. */
  protected abstract beat(): void;
  /** @param expectedRevision - undefined for whatever it is */
  protected abstract put(
    kind: EntryKind,
    key: string,
    text: string,
    expectedRevision: number | undefined,
  ): Promise<number | undefined>;
  /** @param expectedRevision - undefined for whatever it is */
  protected abstract delete(
    kind: EntryKind,
    key: string,
    expectedRevision: number | undefined,
  ): Promise<boolean>;
  protected abstract read(
    kind: EntryKind,
    key: string,
  ): Promise<{ text: string; revision: number } | undefined>;
  /** The texts of all entries whose key begins with this one and a dot. */
  protected abstract list(kind: EntryKind, key: string): Promise<string[]>;

  get isUp(): boolean {
    return this.upSinceMs !== undefined;
  }

  announce(presence: () => HubPresence): void {
    this.#presence = presence;
    this.own = presence();
    this.beat();
  }

  async putRoom(room: StoredRoom, expectedRevision: number): Promise<number | undefined> {
    return this.put("rooms", encodeKey(room.code), encodeRoomEntry(room), expectedRevision);
  }

  async deleteRoom(code: string, expectedRevision: number): Promise<boolean> {
    return this.delete("rooms", encodeKey(code), expectedRevision);
  }

  async readRoom(code: string): Promise<DirectoryEntry<StoredRoom> | undefined> {
    const entry = await this.#readNow("rooms", encodeKey(code));
    return entry && { value: decodeRoom(entry.text), revision: entry.revision };
  }

  async putHome(code: string, home: Home, expectedRevision: number): Promise<number | undefined> {
    return this.put("homes", encodeKey(code), encodeHome(home), expectedRevision);
  }

  async deleteHome(code: string, expectedRevision: number): Promise<boolean> {
    return this.delete("homes", encodeKey(code), expectedRevision);
  }

  async readHome(code: string): Promise<StoredHome | undefined> {
    const entry = await this.#readNow("homes", encodeKey(code));
    const home = entry && this.#readable("homes", () => decodeHome(entry.text));
    return home && { home, revision: entry.revision };
  }

  async putRegistration(registration: StoredRegistration): Promise<void> {
    const key = encodeKey(registration.roomCode, registration.id);
    await this.put("registrations", key, encodeRegistrationEntry(registration), undefined);
  }

  async deleteRegistration(roomCode: string, id: string): Promise<void> {
    await this.delete("registrations", encodeKey(roomCode, id), undefined);
  }

  async readRegistrations(roomCode: string): Promise<StoredRegistration[]> {
    const texts = await this.list("registrations", encodeKey(roomCode));
    const read = (text: string) =>
      this.#readable("registrations", () => decodeRegistrationEntry(text));
    return texts.map(read).filter((registration) => registration !== undefined);
  }

  protected nextBeat(): { key: string; text: string } | undefined {
    const presence = this.#presence?.();
    return presence && { key: encodeKey(presence.hubId), text: JSON.stringify(presence) };
  }

  /**
   * Reports an entry: each revision at most once, never an older one, whatever a reconnect repeats. In the order of the
   * revisions of each key.
   */
  protected changed(kind: WatchedKind, { key, text, revision }: StoredEntry): void {
    const known = this.#known[kind];
    const last = known.get(key) ?? 0;
    if (revision <= last) return;
    if (text === undefined) known.delete(key);
    else known.set(key, revision);
    // A deletion is news only where the entry was known.
    if (text !== undefined || last > 0) this.#report(kind, key, text, revision);
  }

  /**
   * After all entries of a kind were read again: what is not among them was deleted unseen. The silence of a hub is judged
   * elsewhere.
   */
  protected onlyThese(kind: WatchedKind, keys: ReadonlySet<string>): void {
    const known = this.#known[kind];
    for (const [key, revision] of known) {
      if (keys.has(key)) continue;
      known.delete(key);
      if (kind !== "hubs") this.#report(kind, key, undefined, revision);
    }
  }

  /** What was read counts as reported: so that its deletion is, too. */
  async #readNow(kind: WatchedKind, key: string) {
    const entry = await this.read(kind, key);
    if (entry !== undefined) this.changed(kind, { key, ...entry });
    return entry;
  }

  #report(kind: WatchedKind, key: string, text: string | undefined, revision: number): void {
    const [first = ""] = decodeKey(key);
    switch (kind) {
      case "rooms":
        return this.#tell(kind, text, decodeRoom, (room) =>
          this.listener?.roomChanged(first, room, revision),
        );
      case "homes":
        return this.#tell(kind, text, decodeHome, (home) =>
          this.listener?.homeChanged(first, home, revision),
        );
      case "hubs":
        return this.#tell(kind, text, decodePresence, (presence) => {
          // Of its own id only the beats of another process are news.
          const isOther = presence !== undefined && presence.bootId !== this.own?.bootId;
          if (isOther || first !== this.own?.hubId) this.listener?.hubSeen(first, presence);
        });
    }
  }

  #tell<Value>(
    kind: WatchedKind,
    text: string | undefined,
    decode: (text: string) => Value,
    tell: (value: Value | undefined) => void,
  ): void {
    const value = text === undefined ? undefined : this.#readable(kind, () => decode(text));
    if (text === undefined || value !== undefined) tell(value);
  }

  /**
   * What an entry says. Written by another version, or by hand, it may say nothing: this hub goes on with what it can read.
   *
   * @param read - throws what is wrong with it
   * @returns undefined when it was skipped, with a warning
   */
  #readable<Value>(kind: EntryKind, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      this.warn(`An entry of the cluster's ${kind} was skipped: ${problem}.`);
      return undefined;
    }
  }
}
