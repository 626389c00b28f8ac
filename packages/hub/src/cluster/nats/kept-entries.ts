import type { StoredEntry } from "../directory-report.ts";
import type { EntryKind } from "../entry-codec.ts";

/**
 * What this hub can write back when the server lost a bucket, as one does that keeps it in memory and restarts: the rooms,
 * which all hubs know, and the participants that this hub wrote last.
 */
export class KeptEntries {
  readonly #rooms = new Map<string, string>();
  readonly #own = new Map<string, { text: string; revision: number }>();

  /** As it is stored now. */
  seen(kind: EntryKind, { key, text, revision }: StoredEntry): void {
    if (kind === "rooms") {
      if (text === undefined) this.#rooms.delete(key);
      else this.#rooms.set(key, text);
    } else if (kind === "participants") {
      const own = this.#own.get(key);
      // Another hub has changed it since.
      if (own !== undefined && revision > own.revision && text !== own.text) this.#own.delete(key);
    }
  }

  written(kind: EntryKind, key: string, text: string, revision: number): void {
    if (kind === "participants") this.#own.set(key, { text, revision });
  }

  deleted(kind: EntryKind, key: string): void {
    if (kind === "participants") this.#own.delete(key);
  }

  /** To write where there is none. */
  list(kind: EntryKind): { key: string; text: string }[] {
    if (kind === "rooms") return [...this.#rooms].map(([key, text]) => ({ key, text }));
    if (kind === "participants") return [...this.#own].map(([key, { text }]) => ({ key, text }));
    return [];
  }
}
