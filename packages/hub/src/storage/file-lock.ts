import { parseObject } from "@roomhub/protocol";
import { createHash } from "node:crypto";
import { constants, readFileSync } from "node:fs";
import { readdir, readFile, rename } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createFile, hasCode, removeIfThere } from "./whole-file.ts";
import { uptime } from "node:os";

/** Another hub has the state file. Nothing was read or changed. */
export class StateFileLockedError extends Error {
  override readonly name = "StateFileLockedError";
  readonly path: string;
  readonly pid: number;

  constructor(path: string, pid: number) {
    super(
      `The state file ${path} is in use by process ${pid}. Stop that hub, or start this one with ` +
        `--state-file <another file> or --ephemeral. If process ${pid} is no hub, delete ${lockPathOf(path)}.`,
    );
    this.path = path;
    this.pid = pid;
  }
}

export interface FileLock {
  /** Leaves a lock alone that is no longer ours. */
  release(): Promise<void>;
}

/** @throws StateFileLockedError when a live process holds it, or is about to */
export function lockStateFile(path: string, machine?: Machine): Promise<FileLock> {
  return lockFile(path, (pid) => new StateFileLockedError(path, pid), machine);
}

/**
 * Takes the lock file beside `path`; one left behind by a dead process is replaced. Of any number of processes that
 * try at once, one succeeds. docs/decisions/0020-a-stale-lock-is-succeeded.md.
 *
 * @param inUse - the error when a live process holds it, or is about to
 */
export async function lockFile(
  path: string,
  inUse: (pid: number, lockPath: string) => Error,
  machine: Machine = thisMachine(),
): Promise<FileLock> {
  const lockPath = lockPathOf(path);
  const own = ownLockText(machine);
  while (!(await tryLock(lockPath, own, inUse, machine)));
  await sweep(lockPath);
  return {
    async release() {
      if ((await readText(lockPath)) === own) await removeIfThere(lockPath);
    },
  };
}

/** The live process that holds the lock file beside `path`; undefined for none. */
export async function lockHolder(
  path: string,
  machine: Machine = thisMachine(),
): Promise<number | undefined> {
  const text = await readText(lockPathOf(path));
  const holder = text === undefined ? undefined : parseHolder(text);
  return holder !== undefined && isRunning(holder, machine) ? holder.pid : undefined;
}

/** @returns false when another process was quicker at some step: then everything is read again */
async function tryLock(
  lockPath: string,
  own: string,
  inUse: (pid: number, lockPath: string) => Error,
  machine: Machine,
): Promise<boolean> {
  const found = await readText(lockPath);
  if (found === undefined) return createFile(lockPath, own, `${lockPath}.`);
  // A stale lock is not removed: since it was read it may have become the lock of another process.
  const successionPath = await endOfLine(lockPath, found, inUse, machine);
  if (!(await createFile(successionPath, own, `${lockPath}.`))) return false;
  try {
    // Successions of a lock are removed after it was replaced, never before. If it is still there, so is the whole line,
    // and every process in it but this one is dead.
    if ((await readText(lockPath)) !== found) return false;
    await rename(successionPath, lockPath);
    return true;
  } finally {
    await removeIfThere(successionPath);
  }
}

/**
 * The right to replace a stale lock is a file that one process can make. If that process ends before it replaces the lock,
 * the right passes to its successor, and so on: a line that cannot fork.
 *
 * @returns the path of the file that succeeds the last one in the line
 * @throws Error of `inUse` when the lock, or a file in the line, is of a live process
 */
async function endOfLine(
  lockPath: string,
  lockText: string,
  inUse: (pid: number, lockPath: string) => Error,
  machine: Machine,
): Promise<string> {
  let last: string | undefined = lockText;
  let successionPath = "";
  while (last !== undefined) {
    const holder = parseHolder(last);
    if (holder !== undefined && isRunning(holder, machine)) {
      throw inUse(holder.pid, lockPath);
    }
    // Named after the lock too: a file left over from the line of an earlier lock stands for nothing in this one.
    const digest = createHash("sha256").update(`${lockText}\n${last}`).digest("hex");
    successionPath = `${lockPath}.after-${digest}`;
    last = await readText(successionPath);
  }
  return successionPath;
}

/** Removes what killed processes left. A live one whose file is removed starts again, and finds the lock held. */
async function sweep(lockPath: string): Promise<void> {
  const folder = dirname(lockPath);
  const prefix = `${basename(lockPath)}.`;
  const left = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  await Promise.all(left.map((name) => removeIfThere(join(folder, name))));
}

function lockPathOf(path: string): string {
  return `${path}.lock`;
}

/** Absent on Windows. */
const noFollow = (constants as Partial<typeof constants>).O_NOFOLLOW ?? 0;

/** Undefined when there is no such file. @throws for a symbolic link: it may lead anywhere */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, { encoding: "utf8", flag: constants.O_RDONLY | noFollow });
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** The program that has a lock, as its file says. */
interface Holder {
  pid: number;
  /** epoch ms */
  startedAtMs: number;
  /** absent where the system has none, and in locks of hubs that did not know of it */
  bootId?: string | undefined;
}

/** What distinguishes one boot of this machine from another. */
export interface Machine {
  /** the kernel's name for this boot; undefined on systems without one */
  bootId: string | undefined;
  /** epoch ms */
  wallMs: () => number;
  /** ms since the boot */
  uptimeMs: () => number;
}

function thisMachine(): Machine {
  return { bootId: readBootId(), wallMs: Date.now, uptimeMs: () => uptime() * 1_000 };
}

/** The text of a lock that this process holds. */
function ownLockText({ bootId }: Machine): string {
  return JSON.stringify({ ...self(), bootId });
}

/** Undefined for a lock that was cut short: its process died while writing it. */
function parseHolder(text: string): Holder | undefined {
  const { pid, startedAtMs, bootId } = parseObject(text) ?? {};
  const isValid = Number.isSafeInteger(pid) && Number(pid) > 0 && Number.isFinite(startedAtMs);
  if (!isValid) return undefined;
  return {
    pid: Number(pid),
    startedAtMs: Number(startedAtMs),
    bootId: typeof bootId === "string" ? bootId : undefined,
  };
}

function isRunning(holder: Holder, machine: Machine): boolean {
  // In a container every life of the hub has the same pid; the start distinguishes them.
  if (holder.pid === process.pid) return holder.startedAtMs === self().startedAtMs;
  // After a reboot the pid belongs to another process.
  if (!isOfThisBoot(holder, machine)) return false;
  try {
    process.kill(holder.pid, 0);
    return !isZombie(holder.pid);
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

/** Linux, random(4): a random UUID, made anew at each boot. */
function readBootId(): string | undefined {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return undefined; // no /proc on this system: the times have to do
  }
}

function self(): Holder {
  return { pid: process.pid, startedAtMs: Math.round(performance.timeOrigin) };
}

/** By the boot's name where both have it: times mislead once the wall clock was set. */
function isOfThisBoot(holder: Holder, { bootId, wallMs, uptimeMs }: Machine): boolean {
  if (holder.bootId !== undefined && bootId !== undefined) return holder.bootId === bootId;
  // The two clocks may differ by a little.
  return holder.startedAtMs >= wallMs() - uptimeMs() - 10_000;
}

/** Dead, but not yet collected by its parent: after a kill -9 the next hub may come sooner than that. */
function isZombie(pid: number): boolean {
  try {
    // The name in parentheses may contain anything; the state follows the last one.
    return /\) Z [^)]*$/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false; // no /proc on this system: a process that takes signals counts as alive
  }
}
