import { readdirSync, readFileSync } from "node:fs";
import { cpuMsOf } from "../../tests/faults/proc.ts";

/**
 * User and system time of all threads so far, in ms. Finer than the ticks of 10 ms that `/proc/PID/stat` counts, where the
 * kernel provides it; threads that have ended are not included.
 */
export function fineCpuMsOf(pid: number): number {
  try {
    const folder = `/proc/${pid}/task`;
    const ns = readdirSync(folder).map((thread) =>
      Number(readFileSync(`${folder}/${thread}/schedstat`, "utf8").split(" ", 1)[0]),
    );
    return ns.reduce((sum, one) => sum + one, 0) / 1e6;
  } catch {
    return cpuMsOf(pid);
  }
}
