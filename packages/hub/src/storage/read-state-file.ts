import { readFile, stat } from "node:fs/promises";
import { decodeRooms, type StoredRoom } from "./room-store.ts";
import { lockStateFile, StateFileLockedError } from "./state-file-lock.ts";

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
