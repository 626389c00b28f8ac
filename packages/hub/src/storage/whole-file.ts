import { randomUUID } from "node:crypto";
import { link, open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Replaces a file: a reader finds the old one or the new one, also after a power cut.
 *
 * @param temporaryPath - of the new file until then; a name that no other process uses at the same time
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, temporaryPath = `${path}.tmp` } = {},
): Promise<void> {
  // What a killed process left there, or a link that leads elsewhere: the name is removed, never what it leads to.
  await removeIfThere(temporaryPath);
  const file = await open(temporaryPath, "wx", mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporaryPath, path);
  await syncDirectory(dirname(path));
}

/**
 * Makes a file that must not exist yet. It appears with its text in it: link(2) gives a name to a finished file, and only
 * a name that is free.
 *
 * @param temporaryPrefix - of the name that the file has until then
 * @param options - `flush`: whether the text outlives a power cut
 * @returns false when the name was taken, or the unfinished file was removed
 */
export async function createFile(
  path: string,
  text: string,
  temporaryPrefix: string,
  { flush = false } = {},
): Promise<boolean> {
  const temporaryPath = `${temporaryPrefix}${randomUUID()}`;
  await writeFile(temporaryPath, text, { flag: "wx", mode: 0o600, flush });
  try {
    await link(temporaryPath, path);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST") || hasCode(error, "ENOENT")) return false;
    // A file system without hard links: the text follows the name by a moment.
    return await createInPlace(path, text);
  } finally {
    await removeIfThere(temporaryPath);
  }
}

/** @returns the text of a file; undefined when there is none */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Removes a name. @returns false when there was none */
export async function removeIfThere(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return false;
    throw error;
  }
}

/** Makes names in a directory outlive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    const directory = await open(path, "r");
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  } catch {
    // Not every file system can; the names stand all the same, they are only not yet safe from a power cut.
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

async function createInPlace(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}
