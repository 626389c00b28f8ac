import { constants, type NodeGCPerformanceDetail, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";

/** Two halves of 16 MiB, of which V8 uses one at a time. */
const maxYoungBytes = 32 * 1024 * 1024;
/** Up to here everything is collected seldom; a hub that holds more is left to V8's own rule. */
const quietBytes = 64 * 1024 * 1024;
/** V8's own */
const usualYoungFactor = 2;

const isYoungSizeGiven = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].some((arg) =>
  /semi[-_]space[-_]size/.test(arg),
);

let observer: PerformanceObserver | undefined;

/**
 * First of all: the room that loading the program takes would be kept.
 *
 * V8's young generation grows with use: by 14 MB while a program is loaded, and to 128 MiB in one busy moment, which is
 * more than thousands of participants cost. `node --max-semi-space-size` would bound it, but a program cannot give itself
 * that flag; whoever passes it is left alone. docs/decisions/0016-a-small-young-generation.md
 *
 * Nor may V8 put what requests are made of among what lives long, because it saw it live while a small heap was swept: each
 * such object that is dead keeps the rest of its request until everything is collected.
 * docs/decisions/0017-few-full-collections.md
 */
export function limitHeapWhileLoading(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
  if (!isYoungSizeGiven) growYoungBy(1);
}

/**
 * The program is loaded and begins to work: its young generation grows to 32 MiB, and everything is collected only when
 * the heap has grown to 64 MiB. May be called again, for each hub or participant.
 */
export function allowHeapGrowth(): void {
  boundYoung();
  boundQuietly();
  if (observer !== undefined) return;
  observer = new PerformanceObserver((list) => {
    boundYoung();
    if (list.getEntries().some(isFullCollection)) boundQuietly();
  });
  observer.observe({ entryTypes: ["gc"] });
}

/** To be said again and again: V8 takes room back from a program that has nothing to do, which then must have it again. */
function boundYoung(): void {
  if (!isYoungSizeGiven) growYoungBy(youngBytes() < maxYoungBytes ? usualYoungFactor : 1);
}

/** V8 looks at it each time that it wants to grow. One that does not know a flag says so in a line, and does as it likes. */
function growYoungBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

/** V8 looks at it at the end of a full collection, to decide how much may be added before the next; 0: its own rule. */
function boundQuietly(): void {
  const usedBytes = getHeapStatistics().used_heap_size;
  const percent = Math.max(0, Math.ceil((quietBytes / usedBytes - 1) * 100));
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

function isFullCollection(entry: object): boolean {
  const { detail } = entry as { detail?: NodeGCPerformanceDetail };
  return detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

function youngBytes(): number {
  return (
    getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0
  );
}
