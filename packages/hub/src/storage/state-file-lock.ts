import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { readFile, rename, unlink, writeFile } from "node:fs/promises";
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

export interface StateFileLock {
  /** Leaves a lock alone that is no longer ours. */
  release(): Promise<void>;
}

interface Holder {
  pid: number;
  /** epoch ms */
  startedAtMs: number;
  /** absent where the system has none, and in locks of hubs that did not know of it */
  bootId?: string | undefined;
}

/** What tells one boot of this machine from another. */
export interface Machine {
  /** the kernel's name for this boot; undefined on systems without one */
  bootId: string | undefined;
  /** epoch ms */
  wallMs: () => number;
  /** ms since the boot */
  uptimeMs: () => number;
}

/**
 * Takes the lock file beside `path`; one left behind by a dead process is taken over.
 *
 * @throws StateFileLockedError when a live process holds it
 */
export async function lockStateFile(
  path: string,
  machine: Machine = thisMachine(),
): Promise<StateFileLock> {
  const lockPath = lockPathOf(path);
  const own = JSON.stringify({ ...self(), bootId: machine.bootId });
  if (!(await writeIfAbsent(lockPath, own))) {
    await removeStaleLock(path, lockPath, machine);
    if (!(await writeIfAbsent(lockPath, own))) {
      throw new StateFileLockedError(path, parseHolder(await readText(lockPath))?.pid ?? 0);
    }
  }
  return {
    async release() {
      if ((await readText(lockPath)) === own) await unlink(lockPath);
    },
  };
}

function lockPathOf(path: string): string {
  return `${path}.lock`;
}

/** Two starts may find the same stale lock; the slower one must not remove the quicker one's fresh lock. */
async function removeStaleLock(path: string, lockPath: string, machine: Machine): Promise<void> {
  const found = await readText(lockPath);
  const holder = parseHolder(found);
  if (holder !== undefined && isRunning(holder, machine))
    throw new StateFileLockedError(path, holder.pid);
  const asidePath = `${lockPath}.${randomUUID()}`;
  try {
    await rename(lockPath, asidePath);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  const removed = await readText(asidePath);
  if (removed !== found) await writeIfAbsent(lockPath, removed);
  await unlink(asidePath);
}

function thisMachine(): Machine {
  return { bootId: readBootId(), wallMs: Date.now, uptimeMs: () => uptime() * 1_000 };
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

function isRunning(holder: Holder, machine: Machine): boolean {
  // In a container every life of the hub has the same pid; the start tells them apart.
  if (holder.pid === process.pid) return holder.startedAtMs === self().startedAtMs;
  // After a reboot the pid belongs to somebody else.
  if (!isOfThisBoot(holder, machine)) return false;
  try {
    process.kill(holder.pid, 0);
    return !isZombie(holder.pid);
  } catch (error) {
    return hasCode(error, "EPERM");
  }
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
    return false; // no /proc on this system: whoever answers signals counts as alive
  }
}

/** Undefined for a lock that was cut short: whoever wrote it is gone. */
function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, startedAtMs, bootId } = JSON.parse(text) as { [Key in keyof Holder]?: unknown };
    const isValid = Number.isSafeInteger(pid) && Number(pid) > 0 && Number.isFinite(startedAtMs);
    if (!isValid) return undefined;
    return {
      pid: Number(pid),
      startedAtMs: Number(startedAtMs),
      bootId: typeof bootId === "string" ? bootId : undefined,
    };
  } catch {
    return undefined;
  }
}

async function writeIfAbsent(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  }
}

/** `""` when there is no such file. */
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return "";
    throw error;
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
