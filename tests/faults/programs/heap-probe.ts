/** Loaded into a hub before it starts: on SIGUSR2 it collects garbage and writes what is left to the file `HEAP_PROBE_FILE`. */
import { renameSync, writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** After a forced collection. */
export interface HeapProbe {
  /** of the probe, from 1 */
  number: number;
  heapBytes: number;
  /** sockets, servers, timers and requests that keep the process alive */
  handles: number;
}

const path = process.env["HEAP_PROBE_FILE"];
let number = 0;

if (path !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on("SIGUSR2", () => {
    collect();
    const probe: HeapProbe = {
      number: ++number,
      heapBytes: process.memoryUsage().heapUsed,
      handles: process.getActiveResourcesInfo().length,
    };
    // In one step, so that it is never read half.
    writeFileSync(`${path}.new`, JSON.stringify(probe));
    renameSync(`${path}.new`, path);
  });
}
