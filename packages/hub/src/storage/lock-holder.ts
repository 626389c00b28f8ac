import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { hasCode } from "./whole-file.ts";

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

export function thisMachine(): Machine {
  return { bootId: readBootId(), wallMs: Date.now, uptimeMs: () => uptime() * 1_000 };
}

/** The text of a lock that this process holds. */
export function ownLockText({ bootId }: Machine): string {
  return JSON.stringify({ ...self(), bootId });
}

/** Undefined for a lock that was cut short: its process died while writing it. */
export function parseHolder(text: string): Holder | undefined {
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

export function isRunning(holder: Holder, machine: Machine): boolean {
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
