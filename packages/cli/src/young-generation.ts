import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Two halves of 16 MiB, of which V8 uses one at a time. */
const maxBytes = 32 * 1024 * 1024;

/**
 * Lets V8's young generation grow to 32 MiB and no further, as `node --max-semi-space-size=16` would; a program cannot give
 * itself that flag. By default one busy moment makes it 128 MiB, and V8 never gives that back: more than all that
 * thousands of participants cost. 16 MiB cost no more time, since they stay in the processor's cache.
 * docs/decisions/0016-a-small-young-generation.md
 *
 * @param args - what Node was started with; whoever set the size there knows better
 */
export function keepYoungGenerationSmall(args: readonly string[]): void {
  if (args.some((arg) => arg.includes("semi-space-size") || arg.includes("semi_space_size"))) return;
  const observer = new PerformanceObserver(() => {
    if (youngBytes() < maxBytes) return;
    // It grows by this factor, looked at anew each time. V8 that does not know it says so and grows on.
    setFlagsFromString("--semi-space-growth-factor=1");
    observer.disconnect();
  });
  observer.observe({ entryTypes: ["gc"] });
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0;
}
