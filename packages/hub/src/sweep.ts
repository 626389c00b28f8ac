import type { Clock } from "./clock.ts";

export interface SweepTasks {
  /** each period */
  often: (nowMs: number) => void;
  /** about once a minute */
  eachMinute: () => void;
  /** about once an hour */
  eachHour: () => void;
}

/**
 * The hub's one timer. Looks at deadlines and tunnels often, at what expires each minute; and reports to the clock each time,
 * which finds out by it that the hub itself was frozen.
 */
export function startSweep(clock: Clock, periodMs: number, tasks: SweepTasks): () => void {
  const startMs = clock.swept(periodMs);
  const everyMinute = every(60_000, startMs, tasks.eachMinute);
  const everyHour = every(3_600_000, startMs, tasks.eachHour);
  const timer = setInterval(() => {
    const nowMs = clock.swept(periodMs);
    tasks.often(nowMs);
    everyMinute(nowMs);
    everyHour(nowMs);
  }, periodMs);
  return () => {
    clearInterval(timer);
    clock.swept(undefined);
  };
}

/** Runs a task at most once per period, however often it is called. */
function every(
  periodMs: number,
  startMs: number,
  task: (nowMs: number) => void,
): (nowMs: number) => void {
  let lastMs = startMs;
  return (nowMs) => {
    if (nowMs - lastMs < periodMs) return;
    lastMs = nowMs;
    task(nowMs);
  };
}
