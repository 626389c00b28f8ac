import type { StoredEntry } from "../directory-report.ts";
import type { EntryKind } from "../entry-codec.ts";

/**
 * What this hub can write back when the server lost a bucket, as one does that keeps it in memory and restarts: the rooms,
 * which all hubs know.
 */
export class KeptEntries {
  readonly #rooms = new Map<string, string>();

  /** As it is stored now. */
  seen(kind: EntryKind, { key, text }: StoredEntry): void {
    if (kind !== "rooms") return;
    if (text === undefined) this.#rooms.delete(key);
    else this.#rooms.set(key, text);
  }

  /** To write where there is none. */
  list(kind: EntryKind): { key: string; text: string }[] {
    return kind === "rooms" ? [...this.#rooms].map(([key, text]) => ({ key, text })) : [];
  }
}
