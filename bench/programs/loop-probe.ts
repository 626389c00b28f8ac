/**
 * Loaded into a hub with `--import`: on SIGUSR2 it writes down for how long at most the event loop stood still since the last
 * time, in ms.
 */
import { renameSync, writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

const path = process.env["BENCH_LOOP_FILE"] ?? "";
const resolutionMs = 1;
const delay = monitorEventLoopDelay({ resolution: resolutionMs });
delay.enable();

process.on("SIGUSR2", () => {
  // What is measured is the time between two beats.
  writeFileSync(`${path}.new`, String(Math.max(0, delay.max / 1e6 - resolutionMs)));
  renameSync(`${path}.new`, path);
  delay.reset();
});
