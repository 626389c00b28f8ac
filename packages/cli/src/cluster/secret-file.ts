import { open } from "node:fs/promises";

/** A file with a secret, and who can read it. */
export interface SecretFile {
  bytes: Uint8Array;
  /** always false on Windows, where the mode says nothing */
  isReadableByOthers: boolean;
}

/** @throws NodeJS.ErrnoException */
export async function readSecretFile(path: string): Promise<SecretFile> {
  await using file = await open(path);
  const { mode } = await file.stat();
  const isReadableByOthers = process.platform !== "win32" && (mode & 0o077) !== 0;
  return { bytes: await file.readFile(), isReadableByOthers };
}
