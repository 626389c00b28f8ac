import type { Room } from "../domain/room.ts";
import type { StoredRoom } from "../storage/room-store.ts";
import { type ClusterDirectory, clusterAway, DirectoryUnavailable } from "./directory.ts";

/** `lastUsedAt` alone is written at most this often. Contract §8. */
const usedWriteMs = 10 * 60_000;

export interface SharedRoomsOptions {
  directory: Pick<ClusterDirectory, "putRoom" | "deleteRoom" | "readRoom">;
  /** What of a room is stored; undefined while its password is being hashed. */
  stored: (room: Room) => StoredRoom | undefined;
  /** The registry's room is as stored from now on, or made; undefined: it is dropped. */
  apply: (code: string, room: StoredRoom | undefined) => void;
  /** That is stored now. */
  wrote: (room: StoredRoom) => void;
  reportBug: (error: unknown) => void;
}

interface Known {
  revision: number;
  /** as stored, for comparison */
  text: string;
  lastUsedAt: number;
}

/** The rooms of a cluster: all hubs have all of them, and a code belongs to one room. */
export class SharedRooms {
  readonly #options: SharedRoomsOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: SharedRoomsOptions) {
    this.#options = options;
  }

  /** What the directory reports. */
  changed(code: string, room: StoredRoom | undefined, revision: number): void {
    const known = this.#known.get(code)?.revision ?? 0;
    // Of a deletion that was not seen, the revision is that of what was deleted.
    if (room === undefined ? revision < known : revision <= known) return;
    if (room === undefined) this.#known.delete(code);
    else this.#known.set(code, knownOf(room, revision));
    this.#options.apply(code, room);
  }

  /**
   * Stores a new or changed room.
   *
   * @returns false when another hub has a room with its code, or has changed it at the same time
   * @throws HubError `cluster_unavailable`
   */
  async keep(room: Room): Promise<boolean> {
    const stored = this.#options.stored(room);
    if (stored === undefined) return true;
    const before = this.#known.get(room.code);
    if (before?.text === textOf(stored)) return true;
    const { directory } = this.#options;
    const revision = await reachable(() => directory.putRoom(stored, before?.revision ?? 0));
    if (revision === undefined) return false;
    this.#note(stored, revision);
    return true;
  }

  /** A room is dropped everywhere. One that another hub has used since stays. */
  async drop(code: string): Promise<void> {
    const known = this.#known.get(code);
    if (known === undefined) return;
    this.#known.delete(code);
    await this.#quietly(() => this.#options.directory.deleteRoom(code, known.revision));
  }

  /** Writes when rooms were used last, of those where that was long ago. */
  async noteUse(rooms: Iterable<Room>): Promise<void> {
    for (const room of rooms) {
      const known = this.#known.get(room.code);
      const stored = this.#options.stored(room);
      if (known === undefined || stored === undefined) continue;
      if (room.lastUsedAt - known.lastUsedAt < usedWriteMs) continue;
      await this.#quietly(async () => {
        const revision = await this.#options.directory.putRoom(stored, known.revision);
        if (revision !== undefined) this.#note(stored, revision);
      });
    }
  }

  /** A room that is stored, though it has not been reported yet, is in the registry when this resolves. @throws HubError */
  async catchUp(code: string): Promise<void> {
    const found = await reachable(() => this.#options.directory.readRoom(code));
    if (found !== undefined) this.changed(code, found.room, found.revision);
  }

  #note(room: StoredRoom, revision: number): void {
    this.#options.wrote(room);
    if (revision > (this.#known.get(room.code)?.revision ?? 0)) {
      this.#known.set(room.code, knownOf(room, revision));
    }
  }

  async #quietly(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof DirectoryUnavailable)) this.#options.reportBug(error);
    }
  }
}

async function reachable<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof DirectoryUnavailable ? clusterAway(error) : error;
  }
}

function knownOf(room: StoredRoom, revision: number): Known {
  return { revision, text: textOf(room), lastUsedAt: room.lastUsedAt };
}

/** Without the time of its last use, which is written by a rule of its own. */
function textOf(room: StoredRoom): string {
  return JSON.stringify({ ...room, lastUsedAt: 0 });
}
