/** One event of a trace. https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
export interface TraceEvent {
  name: string;
  /** `X`: complete, with a duration; `M`: names a thread; others: a moment */
  ph: string;
  pid: number;
  tid: number;
  /** µs */
  ts: number;
  /** µs by the clock */
  dur?: number;
  /** µs of the thread's CPU time */
  tdur?: number;
  args?: { name?: string };
}

/** What the page's main thread did, all in ms. */
export interface MainThread {
  /** script, style and layout of each frame that changed the page, CPU time */
  frames: number[];
  /** the same by the clock: with what other programs took of the processor */
  frameClock: number[];
  /** each task, CPU time */
  tasks: number[];
  /** CPU time of all tasks together */
  busyMs: number;
}

/** The parts of a frame that the page's own script and style cause. */
const frameParts = new Set(["FireAnimationFrame", "UpdateLayoutTree", "Layout"]);
/** Main-thread tasks, in the trace's category of top-level events. */
const taskName = "RunTask";

/**
 * Reads a trace of the categories {@link TRACED}. Style and layout that script forces are inside `FireAnimationFrame`, and
 * counted once.
 */
export function mainThreadOf(events: readonly TraceEvent[]): MainThread {
  const own = rendererEvents(events);
  const tasks = own.filter(({ name }) => name === taskName);
  const parts = outermost(own.filter(({ name }) => frameParts.has(name)));
  const marks = own.filter(({ name }) => name === DRAWN);
  const frames: number[] = [];
  const frameClock: number[] = [];
  let next = 0;
  for (const task of tasks) {
    const inTask: TraceEvent[] = [];
    for (
      let part = parts[next];
      part !== undefined && part.ts < endOf(task);
      part = parts[++next]
    ) {
      if (part.ts >= task.ts) inTask.push(part);
    }
    if (!marks.some(({ ts }) => ts >= task.ts && ts < endOf(task))) continue;
    frames.push(sum(inTask.map(cpuMs)));
    frameClock.push(sum(inTask.map(({ dur = 0 }) => dur / 1_000)));
  }
  return { frames, frameClock, tasks: tasks.map(cpuMs), busyMs: sum(tasks.map(cpuMs)) };
}

/** What {@link mainThreadOf} needs. */
export const TRACED = [
  "devtools.timeline",
  "disabled-by-default-devtools.timeline",
  "blink.user_timing",
];

/** Marks each frame that changed the page: others only run its effects, and would make the median small. */
const DRAWN = "drawn";

/** Runs in the page before its own script. */
export function markDrawnFrames(): void {
  new MutationObserver(() => performance.mark("drawn")).observe(document, {
    attributes: true,
    characterData: true,
    childList: true,
    subtree: true,
  });
}

/** Of the renderer that drew most: others are of empty pages. In order of time. */
function rendererEvents(events: readonly TraceEvent[]): TraceEvent[] {
  const mains = events.filter(({ ph, args }) => ph === "M" && args?.name === "CrRendererMain");
  const threads = mains.map(({ pid, tid }) =>
    events.filter(
      ({ name, ph, ...at }) => at.pid === pid && at.tid === tid && (ph === "X" || name === DRAWN),
    ),
  );
  const drawn = (thread: readonly TraceEvent[]) =>
    thread.filter(({ name }) => name === DRAWN).length;
  const [busiest] = threads.sort((one, other) => drawn(other) - drawn(one));
  if (busiest === undefined) throw new Error("The trace has no main thread of a page.");
  return busiest.sort((one, other) => one.ts - other.ts || endOf(other) - endOf(one));
}

function outermost(events: readonly TraceEvent[]): TraceEvent[] {
  let coveredUntil = -Infinity;
  return events.filter((event) => {
    if (event.ts < coveredUntil) return false;
    coveredUntil = endOf(event);
    return true;
  });
}

function endOf({ ts, dur = 0 }: TraceEvent): number {
  return ts + dur;
}

function cpuMs({ dur = 0, tdur = dur }: TraceEvent): number {
  return tdur / 1_000;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
