/**
 * Loaded into a hub with `--import`: on SIGUSR2 it writes the longest time for which the event loop was blocked since the last
 * time. Linux only.
 */
import { openSync, readSync, renameSync, writeFileSync } from "node:fs";

/** The longest of all times between two turns, in ms. */
export interface LoopBlocks {
  /** without the time in which the thread could have run and had no core */
  ownMs: number;
  wallMs: number;
}

const path = process.env["BENCH_LOOP_FILE"] ?? "";
const beatMs = 1;
/** of the main thread: time on a core, time waited for one, in ns, and how often */
const schedstat = openSync("/proc/self/schedstat", "r");
const text = Buffer.alloc(128);
const none: LoopBlocks = { ownMs: 0, wallMs: 0 };

let longest = { ...none };
let lastMs = performance.now();
let lastWaitedMs = waitedMs();

setInterval(() => {
  const waited = waitedMs();
  const wallMs = performance.now() - lastMs - beatMs;
  longest.wallMs = Math.max(longest.wallMs, wallMs);
  longest.ownMs = Math.max(longest.ownMs, wallMs - (waited - lastWaitedMs));
  lastMs = performance.now();
  lastWaitedMs = waited;
}, beatMs).unref();

process.on("SIGUSR2", () => {
  writeFileSync(`${path}.new`, JSON.stringify(longest));
  renameSync(`${path}.new`, path);
  longest = { ...none };
});

function waitedMs(): number {
  const length = readSync(schedstat, text, 0, text.length, 0);
  return Number(text.toString("latin1", 0, length).split(" ")[1]) / 1e6;
}
