import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

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
