import { readdirSync, readFileSync } from "node:fs";

/** What distinguishes a process from a later one with the same pid; undefined when there is none. */
export function startTimeOf(pid: number): string | undefined {
  return statFields(pid)?.[19];
}

/** User and system time so far. */
export function cpuMsOf(pid: number): number {
  const fields = statFields(pid);
  return (Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0)) * 10;
}

export function rssBytesOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? Number.NaN) * 1024;
}

export function fdCountOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The fields behind the name, which may hold anything. */
function statFields(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}
