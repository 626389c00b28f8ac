import type { HubIdentity } from "../domain/hub-identity.ts";
import type { StoredRegistration } from "../domain/stored-registration.ts";
import { HubError, reasonOf } from "../errors.ts";
import { decodeRoom, type StoredRoom } from "../storage/room-store.ts";
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

/** How often a hub says that it is there. */
export const PRESENCE_INTERVAL_MS = 3_000;

/** What a room's home stored of a participant is kept so long after it was written last. */
export const REGISTRATION_KEPT_MS = 24 * 3_600_000;

/** The directory cannot be reached: nothing was changed, or it is unknown whether it was. Clients get 503. */
export class DirectoryUnavailable extends Error {
  override readonly name = "DirectoryUnavailable";
}

/** The error of a request that needs the directory while it cannot be reached. */
export function clusterAway(cause?: unknown): HubError {
  return new HubError("cluster_unavailable", "This hub cannot reach its cluster at the moment.", {
    hint: "Rooms that are in use go on. Try again in some seconds.",
    cause,
  });
}

/**
 * What the directory reports. Each revision of an entry at most once, and the revisions of one entry only rise; those in
 * between may be left out. Between entries of different kinds there is no order. Own changes are reported, too, before or
 * after the call that made them returns.
 */
export interface DirectoryListener {
  /** @param room - undefined when it was deleted */
  roomChanged(code: string, room: StoredRoom | undefined, revision: number): void;
  /** @param home - undefined when it was deleted */
  homeChanged(code: string, home: Home | undefined, revision: number): void;
  /** The server kept them in memory and was restarted: each home has to write those of its rooms again, once it is up. */
  registrationsLost(): void;
  /**
   * Each beat of another hub, also of one that has this hub's id by mistake. What is reported on opening may be of a hub that died a while ago.
   *
   * @param presence - undefined when the hub left in order
   */
  hubSeen(hubId: string, presence: HubPresence | undefined): void;
  /** On each change of `isUp`, also on opening; all entries are reported before it says true. */
  stateChanged(isUp: boolean): void;
}

/** An entry as it is stored. */
export interface StoredEntry {
  key: string;
  /** undefined when it was deleted */
  text: string | undefined;
  revision: number;
}

/** The texts of one kind, by key. */
export interface EntryStore {
  /** @param expectedRevision - undefined for whatever it is @returns undefined when it is another one */
  put(key: string, text: string, expectedRevision: number | undefined): Promise<number | undefined>;
  /** @returns false when it is not at that revision */
  delete(key: string, expectedRevision: number | undefined): Promise<boolean>;
  read(key: string): Promise<{ text: string; revision: number } | undefined>;
  /** Of all entries whose key begins with this one and a dot. */
  list(key: string): Promise<string[]>;
}

/**
 * What all hubs of a cluster know: rooms, their homes, and hubs. Changes are
 * compare-and-set: of two hubs that change the same entry at once, one wins, and the other learns it. Registrations alone
 * are written as they are and reported to no hub.
 *
 * It is made of texts by kind and key, wherever these are. They must not hold passwords, tokens, `authHeaders` or bodies.
 */
export abstract class ClusterDirectory {
  /** ms on the clock it was made with: since when no change was missed. Undefined while down and while entries are reported again */
  upSinceMs: number | undefined;
  /** What a failure of the server may take back of what was stored, as a sentence; undefined: nothing that is known of. */
  warning: string | undefined;
  protected listener: DirectoryListener | undefined;
  /** undefined until the hub announced itself */
  protected own: HubIdentity | undefined;
  #presence: (() => HubPresence) | undefined;
  /** the entries that exist, as last seen, by key */
  protected readonly known: Record<WatchedKind, Map<string, { text: string; revision: number }>> = {
    rooms: new Map(),
    hubs: new Map(),
    homes: new Map(),
  };

  /**
   * Connects and reports all entries. Resolves when the listener, if there is one, has seen all of them. From then on it reconnects by
   * itself, with full jitter up to 5 s, and reports what changed in between.
   *
   * @throws DirectoryUnavailable when the first connection fails
   */
  abstract open(listener: DirectoryListener | undefined): Promise<void>;
  /** Never rejects. The listener is not called any more. */
  abstract close(): Promise<void>;
  protected abstract warn(message: string): void;
  /** Stores the {@link nextBeat} if there is one, and the directory is up. */
  protected abstract beat(): void;
  /** What is stored of one kind. @throws DirectoryUnavailable also when it is lost while `work` runs */
  protected abstract reach<Result>(
    kind: EntryKind,
    work: (store: EntryStore) => Promise<Result>,
  ): Promise<Result>;

  /** false while changes cannot be made or are not seen */
  get isUp(): boolean {
    return this.upSinceMs !== undefined;
  }

  /**
   * Written at once and every 3 s from then on, as it is at that time; removed by {@link close}, unless another process
   * under the same id has written since. Again: written at once.
   */
  announce(presence: () => HubPresence): void {
    this.#presence = presence;
    this.own = presence();
    this.beat();
  }

  /**
   * @param expectedRevision - of the entry that is replaced; 0 when there must be none
   * @returns the new revision, once the change is stored; undefined when the entry is not at that revision
   * @throws DirectoryUnavailable
   * @throws HubError when the entry is larger than an entry may be
   */
  async putRoom(room: StoredRoom, expectedRevision: number): Promise<number | undefined> {
    const [key, text] = [encodeKey(room.code), encodeRoomEntry(room)];
    return this.reach("rooms", (rooms) => rooms.put(key, text, expectedRevision));
  }

  /** @returns false when the entry is not at that revision. @throws DirectoryUnavailable */
  async deleteRoom(code: string, expectedRevision: number): Promise<boolean> {
    return this.reach("rooms", (rooms) => rooms.delete(encodeKey(code), expectedRevision));
  }

  /** What is stored now; where it is news, the listener gets it first. @throws DirectoryUnavailable */
  async readRoom(code: string): Promise<{ room: StoredRoom; revision: number } | undefined> {
    const entry = await this.#readNow("rooms", encodeKey(code));
    return entry && { room: decodeRoom(entry.text), revision: entry.revision };
  }

  /** As {@link putRoom}. */
  async putHome(code: string, home: Home, expectedRevision: number): Promise<number | undefined> {
    const [key, text] = [encodeKey(code), encodeHome(home)];
    return this.reach("homes", (homes) => homes.put(key, text, expectedRevision));
  }

  /** As {@link deleteRoom}. */
  async deleteHome(code: string, expectedRevision: number): Promise<boolean> {
    return this.reach("homes", (homes) => homes.delete(encodeKey(code), expectedRevision));
  }

  /** As {@link readRoom}; what cannot be read is warned about and counts as none. */
  async readHome(code: string): Promise<StoredHome | undefined> {
    const entry = await this.#readNow("homes", encodeKey(code));
    const home = entry && this.#readable("homes", () => decodeHome(entry.text));
    return home && { home, revision: entry.revision };
  }

  /**
   * Replaces what was stored of the participant. Only the room's home calls it. Stored once it resolves.
   *
   * @throws DirectoryUnavailable
   * @throws HubError when it is larger than an entry may be
   */
  async putRegistration(registration: StoredRegistration): Promise<void> {
    const key = encodeKey(registration.roomCode, registration.id);
    const text = encodeRegistrationEntry(registration);
    await this.reach("registrations", (all) => all.put(key, text, undefined));
  }

  /** Also when there is none. @throws DirectoryUnavailable */
  async deleteRegistration(roomCode: string, id: string): Promise<void> {
    await this.reach("registrations", (all) => all.delete(encodeKey(roomCode, id), undefined));
  }

  /** Those of a room, without the ones that cannot be read, which are warned about. @throws DirectoryUnavailable */
  async readRegistrations(roomCode: string): Promise<StoredRegistration[]> {
    const texts = await this.reach("registrations", (all) => all.list(encodeKey(roomCode)));
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
    const known = this.known[kind];
    const last = known.get(key)?.revision ?? 0;
    if (revision <= last) return;
    if (text === undefined) known.delete(key);
    else known.set(key, { text, revision });
    // A deletion is news only where the entry was known.
    if (text !== undefined || last > 0) this.#report(kind, key, text, revision);
  }

  /**
   * After all entries of a kind were read again: what is not among them was deleted unseen. The silence of a hub is judged
   * elsewhere.
   */
  protected onlyThese(kind: WatchedKind, keys: ReadonlySet<string>): void {
    const known = this.known[kind];
    for (const [key, { revision }] of known) {
      if (keys.has(key)) continue;
      known.delete(key);
      if (kind !== "hubs") this.#report(kind, key, undefined, revision);
    }
  }

  /** What was read counts as reported: so that its deletion is, too. */
  async #readNow(kind: WatchedKind, key: string) {
    const entry = await this.reach(kind, (all) => all.read(key));
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
   * The value of an entry. An entry of another version, or edited by hand, may be unreadable: this hub skips it.
   *
   * @param read - throws what is wrong with it
   * @returns undefined when it was skipped, with a warning
   */
  #readable<Value>(kind: EntryKind, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      const problem = reasonOf(error);
      this.warn(`An entry of the cluster's ${kind} was skipped: ${problem}.`);
      return undefined;
    }
  }
}
