import type { HubIdentity } from "../domain/hub-identity.ts";
import type { DirectoryListener } from "./directory.ts";
import {
  decodeHome,
  decodeKey,
  decodePresence,
  decodeRoomEntry,
  type EntryKind,
  type WatchedKind,
} from "./entry-codec.ts";

/** An entry as it is stored. */
export interface StoredEntry {
  key: string;
  /** undefined when it was deleted */
  text: string | undefined;
  revision: number;
}

export interface DirectoryReportOptions {
  listener: DirectoryListener;
  /** undefined until the hub announced itself */
  own: () => HubIdentity | undefined;
  onWarning: (message: string) => void;
}

/**
 * Reports stored entries to the listener: each revision at most once, never an older one, whatever a reconnect repeats.
 * One per directory.
 */
export class DirectoryReport {
  readonly #options: DirectoryReportOptions;
  /** revisions of the entries that exist, as last seen, by key */
  readonly #known: Record<WatchedKind, Map<string, number>> = {
    rooms: new Map(),
    hubs: new Map(),
    homes: new Map(),
  };

  constructor(options: DirectoryReportOptions) {
    this.#options = options;
  }

  /** In the order of the revisions of each key. */
  changed(kind: WatchedKind, { key, text, revision }: StoredEntry): void {
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
  onlyThese(kind: WatchedKind, keys: ReadonlySet<string>): void {
    const known = this.#known[kind];
    for (const [key, revision] of known) {
      if (keys.has(key)) continue;
      known.delete(key);
      if (kind !== "hubs") this.#report(kind, key, undefined, revision);
    }
  }

  /**
   * What an entry says. Written by another version, or by hand, it may say nothing: this hub goes on with what it can read.
   *
   * @param read - throws what is wrong with it
   * @returns undefined when it was skipped, with a warning
   */
  readable<Value>(kind: EntryKind, read: () => Value): Value | undefined {
    try {
      return read();
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      this.#options.onWarning(`An entry of the cluster's ${kind} was skipped: ${problem}.`);
      return undefined;
    }
  }

  #report(kind: WatchedKind, key: string, text: string | undefined, revision: number): void {
    this.readable(kind, () => this.#decode(kind, key, text, revision))?.();
  }

  #decode(kind: WatchedKind, key: string, text: string | undefined, revision: number): () => void {
    const { listener, own } = this.#options;
    const [first = ""] = decodeKey(key);
    switch (kind) {
      case "rooms": {
        const room = text === undefined ? undefined : decodeRoomEntry(text);
        return () => listener.roomChanged(first, room, revision);
      }
      case "homes": {
        const home = text === undefined ? undefined : decodeHome(text);
        return () => listener.homeChanged(first, home, revision);
      }
      case "hubs": {
        const presence = text === undefined ? undefined : decodePresence(text);
        return () => {
          const self = own();
          const hasOwnId = first === self?.hubId;
          // Of its own id only the beats of another process are news.
          if (hasOwnId && (presence === undefined || presence.bootId === self?.bootId)) return;
          listener.hubSeen(first, presence);
        };
      }
    }
  }
}
