import type { ReadStream } from "node:tty";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** What the terminal itself does on these keys when it is not in raw mode. */
export interface TerminalKeys {
  /** Ctrl+C */
  interrupt: () => void;
  /** Ctrl+Z; resolves when the program runs again */
  suspend: () => Promise<void>;
  /** Whether the process is in the foreground; in the background it must not use the terminal. */
  isInForeground: () => boolean;
}

/**
 * Reads single keys from a terminal until released; does nothing for any other input.
 *
 * @returns stops reading and restores the terminal
 */
export function readKeys(
  input: ReadStream,
  terminalKeys: TerminalKeys,
  onKey: (key: string) => void,
): () => void {
  if (!input.isTTY) return () => {};
  const onData = (data: Buffer | string) => {
    for (const key of data.toString()) {
      if (key === "\u0003") terminalKeys.interrupt();
      else if (key === "\u001a") void suspend();
      else onKey(key);
    }
  };
  let isReading = false;
  let isReleased = false;
  const take = () => {
    if (isReleased || !terminalKeys.isInForeground()) return;
    isReading = true;
    input.setRawMode(true);
    input.on("data", onData);
    input.resume();
  };
  const restore = () => {
    if (!isReading) return;
    isReading = false;
    input.off("data", onData);
    input.setRawMode(false);
    input.pause();
  };
  const suspend = async () => {
    restore();
    await terminalKeys.suspend();
    take();
  };
  take();
  return () => {
    isReleased = true;
    restore();
  };
}

/**
 * Whether this process may use its terminal: the system stops a background process (`roomhub join … &`) that reads keys or
 * sets raw mode.
 */
export function isInForeground(): boolean {
  try {
    return isForegroundStat(readFileSync("/proc/self/stat", "utf8"));
  } catch {
    // Not Linux.
  }
  try {
    const args = ["-o", "pgid=,tpgid=", "-p", String(process.pid)];
    const ps = execFileSync("ps", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const [group, terminalGroup] = ps.trim().split(/\s+/);
    return group === terminalGroup;
  } catch {
    // Windows has no background jobs.
    return true;
  }
}

/** @param stat - of proc_pid_stat(5); the program's name in it may contain parentheses */
export function isForegroundStat(stat: string): boolean {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [, , group, , , terminalGroup] = fields;
  return group === terminalGroup;
}
