import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** Processes with all their threads run on that core alone, until the returned function is called. Linux, with `taskset`. */
export function pinTo(core: number, pids: readonly number[]): () => void {
  const all = `0-${availableParallelism() - 1}`;
  for (const pid of pids) allow(String(core), pid);
  return () => {
    for (const pid of pids) allow(all, pid);
  };
}

function allow(cores: string, pid: number): void {
  execFileSync("taskset", ["--all-tasks", "--pid", "--cpu-list", cores, String(pid)]);
}

/** What a process has started, in the order of starting. */
export function processesBelow(parent: number): { pid: number; command: string }[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, ppid]) => Number(ppid) === parent)
    .map(([pid, , ...args]) => ({ pid: Number(pid), command: args.join(" ") }));
}
