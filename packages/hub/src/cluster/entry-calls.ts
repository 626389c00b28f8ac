import type { StoredRegistration } from "../domain/stored-registration.ts";
import type { StoredRoom } from "../storage/room-store.ts";
import type { DirectoryReport } from "./directory-report.ts";
import type { ClusterDirectory, DirectoryEntry } from "./directory.ts";
import {
  decodeHome,
  decodeRegistrationEntry,
  decodeRoomEntry,
  encodeHome,
  encodeKey,
  encodeRegistrationEntry,
  encodeRoomEntry,
  type EntryKind,
  type WatchedKind,
} from "./entry-codec.ts";
import type { Home, StoredHome } from "./homes/room-home.ts";

type Calls = Pick<
  ClusterDirectory,
  | "putRoom"
  | "deleteRoom"
  | "readRoom"
  | "putHome"
  | "deleteHome"
  | "readHome"
  | "putRegistration"
  | "deleteRegistration"
  | "readRegistrations"
>;

/** The calls of a directory on its entries, as calls on keys and texts. */
export abstract class EntryCalls implements Calls {
  /** undefined before the directory was opened */
  protected report: DirectoryReport | undefined;

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

  async putRoom(room: StoredRoom, expectedRevision: number): Promise<number | undefined> {
    return this.put("rooms", encodeKey(room.code), encodeRoomEntry(room), expectedRevision);
  }

  async deleteRoom(code: string, expectedRevision: number): Promise<boolean> {
    return this.delete("rooms", encodeKey(code), expectedRevision);
  }

  async readRoom(code: string): Promise<DirectoryEntry<StoredRoom> | undefined> {
    const entry = await this.#readNow("rooms", encodeKey(code));
    return entry && { value: decodeRoomEntry(entry.text), revision: entry.revision };
  }

  async putHome(code: string, home: Home, expectedRevision: number): Promise<number | undefined> {
    return this.put("homes", encodeKey(code), encodeHome(home), expectedRevision);
  }

  async deleteHome(code: string, expectedRevision: number): Promise<boolean> {
    return this.delete("homes", encodeKey(code), expectedRevision);
  }

  async readHome(code: string): Promise<StoredHome | undefined> {
    const entry = await this.#readNow("homes", encodeKey(code));
    const home = entry && this.report?.readable("homes", () => decodeHome(entry.text));
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
      this.report?.readable("registrations", () => decodeRegistrationEntry(text));
    return texts.map(read).filter((registration) => registration !== undefined);
  }

  /** What was read counts as reported: so that its deletion is, too. */
  async #readNow(kind: WatchedKind, key: string) {
    const entry = await this.read(kind, key);
    if (entry !== undefined) this.report?.changed(kind, { key, ...entry });
    return entry;
  }
}
