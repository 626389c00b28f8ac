import { constants, type NodeGCPerformanceDetail, PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from "node:v8";
import { switchFromText } from "./switch-text.ts";

/** Two semi-spaces of 16 MiB; V8 uses one at a time. */
const maxYoungBytes = 32 * 1024 * 1024;
/** Below this size full collections are rare; above it V8's own rule applies. */
const quietBytes = 64 * 1024 * 1024;
/** V8's default */
const defaultYoungFactor = 2;

const isLeftToV8 = switchFromText(process.env["ROOMHUB_HEAP_GROWTH"] ?? "") === false;

const isYoungSizeGiven = [...process.execArgv, process.env["NODE_OPTIONS"] ?? ""].some((arg) =>
  /semi[-_]space[-_]size/.test(arg),
);

let observer: PerformanceObserver | undefined;
let isKeptSmall = false;

/**
 * Must run before any other module is loaded, since V8 keeps the memory that loading takes. `ROOMHUB_HEAP_GROWTH=off`
 * leaves all of this to V8.
 *
 * V8's young generation grows with use: by 14 MB while a program is loaded, and to 128 MiB in one busy moment, which is
 * more than thousands of participants cost. `node --max-semi-space-size` would bound it, but a program cannot set that flag
 * for itself; when it is given, the size is left alone. docs/decisions/0016-a-small-young-generation.md
 *
 * Pretenuring is off because V8 would allocate the objects of requests in the old generation after seeing them survive
 * while the heap is small; each dead one there retains the rest of its request until a full collection.
 * docs/decisions/0017-few-full-collections.md
 */
export function limitHeapWhileLoading(): void {
  if (isLeftToV8) return;
  setFlagsFromString("--no-allocation-site-pretenuring");
  if (!isYoungSizeGiven) growYoungBy(1);
}

/**
 * Call once the program is loaded: the young generation may grow to 32 MiB, and full collections wait until the heap has
 * grown to 64 MiB. May be called again, for each hub or participant. Does nothing after {@link keepHeapSmall}.
 */
export function allowHeapGrowth(): void {
  if (isLeftToV8 || isKeptSmall) return;
  boundYoung();
  boundQuietly();
  if (observer !== undefined) return;
  observer = new PerformanceObserver((list) => {
    boundYoung();
    if (list.getEntries().some(isFullCollection)) boundQuietly();
  });
  observer.observe({ entryTypes: ["gc"] });
}

/**
 * For a program that works alone for hours, and not fast: full collections come as soon as the heap has grown by a fifth. A
 * heap of 20 MB would else grow to 90 with what is no longer used.
 */
export function keepHeapSmall(): void {
  isKeptSmall = true;
  if (!isLeftToV8) setFlagsFromString("--heap-growing-percent=20");
}

/** Repeated after each collection, because V8 shrinks the young generation of an idle program, which then must regrow. */
function boundYoung(): void {
  if (!isYoungSizeGiven) growYoungBy(youngBytes() < maxYoungBytes ? defaultYoungFactor : 1);
}

/** V8 reads the flag each time it grows. A V8 without the flag prints a line and ignores it. */
function growYoungBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

/** V8 reads the flag after a full collection, to decide how much the heap may grow before the next; 0 is its own rule. */
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
