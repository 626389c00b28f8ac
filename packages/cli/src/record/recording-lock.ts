import { randomUUID } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** The program that has a lock, as its file says. */
interface Holder {
  pid: number;
  /** epoch ms; in a container every process may have the same pid */
  startedAtMs: number;
}

const self: Holder = { pid: process.pid, startedAtMs: Math.round(performance.timeOrigin) };

/**
 * Takes the lock file beside `path`, so that one process at a time writes to it. A lock that a dead process left behind is
 * replaced, by one process even when several try.
 *
 * @returns releases it
 * @throws Error when a live process has it
 */
export function lockRecording(path: string): () => void {
  const lockPath = `${path}.lock`;
  const own = JSON.stringify(self);
  while (!createFile(lockPath, own)) {
    const found = textOf(lockPath);
    if (found === undefined) continue; // released meanwhile
    const holder = parse(found);
    if (holder !== undefined && isRunning(holder)) throw inUse(path, lockPath, holder.pid);
    replaceStale(path, lockPath, found, own);
    if (textOf(lockPath) === own) break;
  }
  return () => {
    if (textOf(lockPath) === own) rmSync(lockPath, { force: true });
  };
}

/** Only the process that made the second file may replace the first one, and looks once more before it does. */
function replaceStale(path: string, lockPath: string, stale: string, own: string): void {
  const nextPath = `${lockPath}.next`;
  if (!createFile(nextPath, own)) throw inUse(path, nextPath, parse(textOf(nextPath) ?? "")?.pid);
  if (textOf(lockPath) === stale) renameSync(nextPath, lockPath);
  else rmSync(nextPath, { force: true });
}

/** Makes a file that has its text from the beginning. @returns false when there is one */
function createFile(path: string, text: string): boolean {
  const ownPath = `${path}.${randomUUID()}`;
  writeFileSync(ownPath, text, { mode: 0o600 });
  try {
    return isNew(() => linkSync(ownPath, path));
  } catch {
    // A file system without hard links: the text follows the name by a moment.
    return isNew(() => writeFileSync(path, text, { flag: "wx", mode: 0o600 }));
  } finally {
    rmSync(ownPath, { force: true });
  }
}

function isNew(create: () => void): boolean {
  try {
    create();
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Undefined for a lock that was cut short, as a crash of the machine may leave it. */
function parse(text: string): Holder | undefined {
  try {
    const { pid, startedAtMs } = JSON.parse(text) as { [Key in keyof Holder]?: unknown };
    if (!Number.isSafeInteger(pid) || Number(pid) < 1) return undefined;
    return { pid: Number(pid), startedAtMs: Number(startedAtMs) };
  } catch {
    return undefined;
  }
}

function isRunning({ pid, startedAtMs }: Holder): boolean {
  if (pid === self.pid) return startedAtMs === self.startedAtMs;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user.
    return hasCode(error, "EPERM");
  }
}

function inUse(path: string, lockPath: string, pid: number | undefined): Error {
  const by = pid === undefined ? "another process" : `process ${pid}`;
  return new Error(
    `${path} is being written by ${by}. If that is no roomhub record, delete ${lockPath}`,
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
