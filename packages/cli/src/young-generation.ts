import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Two halves of 16 MiB, of which V8 uses one at a time. */
const maxBytes = 32 * 1024 * 1024;
/** V8's own */
const usualFactor = 2;

/**
 * V8's young generation grows with use and never shrinks: by 14 MB while a program is loaded, and to 128 MiB in one busy
 * moment, which is more than thousands of participants cost. `node --max-semi-space-size` would bound it, but a
 * program cannot give itself that flag; whoever passes it is left alone.
 * docs/decisions/0016-a-small-young-generation.md
 */
export function keepYoungGenerationMinimal(): void {
  if (!isSizedByStarter()) growBy(1);
}

/** Lets it grow to 32 MiB: the program is loaded and begins to work. May be called again, for each hub or participant. */
export function letYoungGenerationGrow(): void {
  if (isSizedByStarter() || youngBytes() >= maxBytes) return;
  growBy(usualFactor);
  const observer = new PerformanceObserver(() => {
    if (youngBytes() < maxBytes) return;
    growBy(1);
    observer.disconnect();
  });
  observer.observe({ entryTypes: ["gc"] });
}

/** V8 looks at it each time that it wants to grow. One that does not know the flag says so in a line, and does as it likes. */
function growBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

function isSizedByStarter(): boolean {
  const args = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""];
  return args.some((arg) => /semi[-_]space[-_]size/.test(arg));
}

function youngBytes(): number {
  return (
    getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0
  );
}
