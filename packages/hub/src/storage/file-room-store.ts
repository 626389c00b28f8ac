import { lstat, mkdir, readFile, rename, stat } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { reasonOf } from "../errors.ts";
import { decodeRooms, encodeRooms, type RoomStore, type StoredRoom } from "./room-store.ts";
import { lockStateFile, type FileLock, StateFileLockedError } from "./file-lock.ts";
import { hasCode, replaceFile, syncDirectory } from "./whole-file.ts";
import { homedir } from "node:os";

export interface FileRoomStoreOptions {
  /** One sentence for the operator. The hub continues in any case. */
  onWarning?: ((message: string) => void) | undefined;
  /** epoch ms, for the name of a broken file; the system's when left out */
  wallMs?: (() => number) | undefined;
}

export interface FileRoomStore extends RoomStore {
  /** Whether what is saved reaches the file: after {@link RoomStore.load}, which warns where it does not. */
  readonly isKeeping: boolean;
}

/**
 * Rooms in one JSON file, readable by its owner only, held by one process at a time. Contract §1.
 *
 * A file that cannot be understood is renamed aside; one that cannot be locked is read and never written; one that cannot
 * be written costs a warning, never the hub. Only a file in use by another hub is an error, from {@link RoomStore.load}.
 */
export function fileRoomStore(path: string, options: FileRoomStoreOptions = {}): FileRoomStore {
  return new LockedFileRoomStore(path, options.onWarning ?? (() => {}), options.wallMs ?? Date.now);
}

class LockedFileRoomStore implements FileRoomStore {
  readonly #path: string;
  readonly #warn: (message: string) => void;
  readonly #wallMs: () => number;
  #lock: FileLock | undefined;
  /** waiting to be written; newer ones take the place of older ones */
  #next: readonly StoredRoom[] | undefined;
  #writing: Promise<void> | undefined;
  #isFailing = false;

  constructor(path: string, warn: (message: string) => void, wallMs: () => number) {
    this.#path = path;
    this.#warn = warn;
    this.#wallMs = wallMs;
  }

  get isKeeping(): boolean {
    return this.#lock !== undefined;
  }

  async load(): Promise<StoredRoom[]> {
    try {
      await makeFolder(dirname(this.#path));
      this.#lock ??= await lockStateFile(this.#path);
    } catch (error) {
      if (error instanceof StateFileLockedError) throw error;
      return this.#loadUnlocked(reasonOf(error));
    }
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if (hasCode(error, "ENOENT")) return [];
      // Another user's, or unreadable for the moment: its rooms are still in it.
      this.#warn(
        `${this.#notKept()}: ${reasonOf(error)}. Make it readable, and start the hub again`,
      );
      await this.close();
      return [];
    }
    try {
      return decodeRooms(text);
    } catch (error) {
      await this.#setAside(reasonOf(error));
      return [];
    }
  }

  /** On a full disk or a read-only one the rooms are known all the same. What is broken stays where it is: not ours. */
  async #loadUnlocked(whyUnlocked: string): Promise<StoredRoom[]> {
    try {
      const rooms = decodeRooms(await readFile(this.#path, "utf8"));
      this.#warn(
        `The state file ${this.#path} is read, but changes are not kept over a restart: ${whyUnlocked}`,
      );
      return rooms;
    } catch (error) {
      const whyEmpty = hasCode(error, "ENOENT") ? [] : [reasonOf(error)];
      this.#warn(`${this.#notKept()}: ${[whyUnlocked, ...whyEmpty].join("; ")}`);
      return [];
    }
  }

  save(rooms: readonly StoredRoom[]): Promise<void> {
    if (this.#lock === undefined) return Promise.resolve();
    this.#next = rooms;
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async close(): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    await this.#writing;
    try {
      await lock?.release();
    } catch (error) {
      this.#warn(`The lock of ${this.#path} could not be removed: ${reasonOf(error)}`);
    }
  }

  /** What came in while a write ran is written after it: one writer, and the latest wins. */
  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const rooms = this.#next;
      this.#next = undefined;
      try {
        await replaceFile(this.#path, encodeRooms(rooms));
        this.#isFailing = false;
      } catch (error) {
        // A full disk fails every time, and is logged once until a write succeeds.
        if (!this.#isFailing) this.#warn(`${this.#notKept()}: ${reasonOf(error)}`);
        this.#isFailing = true;
      }
    }
    this.#writing = undefined;
  }

  /** Never a directory or a device: then nothing is renamed and nothing will be written over it. */
  async #setAside(reason: string): Promise<void> {
    const stamp = new Date(this.#wallMs()).toISOString().replaceAll(/[:.]/g, "-");
    const asidePath = `${this.#path}.broken-${stamp}`;
    try {
      if (!(await lstat(this.#path)).isFile()) throw new Error("it is not a regular file");
      await rename(this.#path, asidePath);
      this.#warn(
        `The state file ${this.#path} cannot be used (${reason}). It is now ${asidePath}; the hub starts without rooms.`,
      );
    } catch (error) {
      this.#warn(`${this.#notKept()}: ${reason}, and it cannot be moved aside: ${reasonOf(error)}`);
      await this.close();
    }
  }

  #notKept(): string {
    return `Rooms are not kept over a restart, the state file ${this.#path} cannot be used`;
  }
}

/** With its parents, and so that they outlive a power cut. */
async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) {
    await syncDirectory(dirname(made));
  }
}

/**
 * The rooms of a state file that no hub uses; the file stays as it is.
 *
 * @throws StateFileLockedError while a hub has it, which may change it
 * @throws Error with what is wrong, never with the text itself
 */
export async function readStateFile(path: string): Promise<StoredRoom[]> {
  // Otherwise the lock would be made beside a file that does not exist.
  await stat(path);
  const lock = await lockStateFile(path).catch((error: unknown) => {
    if (error instanceof StateFileLockedError) throw error;
    // A backup may be in a folder where nothing can be written, hence no hub has it.
    return undefined;
  });
  try {
    return decodeRooms(await readFile(path, "utf8"));
  } finally {
    await lock?.release();
  }
}

/**
 * `$XDG_STATE_HOME/roomhub/rooms-<port>.json`, or below `~/.local/state`. Contract §1. By port, so that two hubs of one
 * user have a file each.
 */
export function defaultStatePath(
  port: number,
  env: Readonly<Record<string, string | undefined>>,
): string {
  // The XDG specification: a relative path is to be ignored.
  const xdg = env["XDG_STATE_HOME"];
  const base =
    xdg !== undefined && isAbsolute(xdg) ? xdg : join(env["HOME"] || homedir(), ".local", "state");
  return join(base, "roomhub", `rooms-${port}.json`);
}
