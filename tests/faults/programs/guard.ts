/**
 * Outlives the harness by a moment and cleans up behind it, however it ended. Reads lines from stdin: `+ PID START`
 * and `- PID` for processes, `! COMMAND` and `~ COMMAND` for what undoes something outside of processes. When stdin ends,
 * it kills what is left and runs the commands, the newest first.
 */
import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { startTimeOf } from "../proc.ts";

const startTimes = new Map<number, string>();
const undoing: string[] = [];

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const [sign, pid, startTime] = line.split(" ");
    if (sign === "+") startTimes.set(Number(pid), startTime ?? "");
    else if (sign === "-") startTimes.delete(Number(pid));
    else if (sign === "!") undoing.push(line.slice(2));
    else if (sign === "~") undoing.splice(undoing.indexOf(line.slice(2)), 1);
  })
  .on("close", () => {
    for (const [pid, startTime] of startTimes) {
      // The pid may belong to another process by now.
      if (startTimeOf(pid) === startTime) process.kill(pid, "SIGKILL");
    }
    const giveUpMs = performance.now() + 2_000;
    const isAlive = ([pid, startTime]: [number, string]) => startTimeOf(pid) === startTime;
    while ([...startTimes].some(isAlive) && performance.now() < giveUpMs) {
      spawnSync("sleep", ["0.05"]); // what it still writes would be left behind
    }
    for (const command of undoing.toReversed()) spawnSync("sh", ["-c", command]);
  });
