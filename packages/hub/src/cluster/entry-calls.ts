import type { StoredRoom } from "../storage/room-store.ts";
import type { DirectoryReport } from "./directory-report.ts";
import type { ClusterDirectory, DirectoryEntry } from "./directory.ts";
import {
  decodeParticipantEntry,
  decodeRoomEntry,
  encodeKey,
  encodeParticipantEntry,
  encodeRoomEntry,
  type EntryKind,
} from "./entry-codec.ts";
import type { ParticipantEntry } from "./participant-entry.ts";

type Calls = Pick<
  ClusterDirectory,
  "putRoom" | "deleteRoom" | "readRoom" | "putParticipant" | "deleteParticipant" | "readParticipant"
>;

/** The calls of a directory on rooms and participants, as calls on keys and texts. */
export abstract class EntryCalls implements Calls {
  /** undefined before the directory was opened */
  protected report: DirectoryReport | undefined;

  protected abstract put(
    kind: EntryKind,
    key: string,
    text: string,
    expectedRevision: number,
  ): Promise<number | undefined>;
  protected abstract delete(
    kind: EntryKind,
    key: string,
    expectedRevision: number,
  ): Promise<boolean>;
  protected abstract read(
    kind: EntryKind,
    key: string,
  ): Promise<{ text: string; revision: number } | undefined>;

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

  async putParticipant(
    entry: ParticipantEntry,
    expectedRevision: number,
  ): Promise<number | undefined> {
    const key = encodeKey(entry.roomCode, entry.id);
    return this.put("participants", key, encodeParticipantEntry(entry), expectedRevision);
  }

  async deleteParticipant(
    roomCode: string,
    id: string,
    expectedRevision: number,
  ): Promise<boolean> {
    return this.delete("participants", encodeKey(roomCode, id), expectedRevision);
  }

  async readParticipant(
    roomCode: string,
    id: string,
  ): Promise<DirectoryEntry<ParticipantEntry> | undefined> {
    const entry = await this.#readNow("participants", encodeKey(roomCode, id));
    return entry && { value: decodeParticipantEntry(entry.text), revision: entry.revision };
  }

  /** What was read counts as reported: so that its deletion is, too. */
  async #readNow(kind: EntryKind, key: string) {
    const entry = await this.read(kind, key);
    if (entry !== undefined) this.report?.changed(kind, { key, ...entry });
    return entry;
  }
}
