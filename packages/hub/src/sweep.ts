import type { Clock } from "./clock.ts";

export interface SweepTasks {
  /** each period */
  often: (nowMs: number) => void;
  /** about once a minute */
  eachMinute: () => void;
  /** about once an hour */
  eachHour: () => void;
}

/** Later than this beside its period, and it was the hub that stood still, not the others. Contract §2. */
const freezeMs = 2_000;

/**
 * The hub's one timer. Looks at deadlines and tunnels often, at what expires each minute; and when it finds
 * that the hub itself was frozen, moves every deadline by the gap.
 */
export function startSweep(clock: Clock, periodMs: number, tasks: SweepTasks): () => void {
  let lastMs = clock.nowMs();
  const everyMinute = every(60_000, lastMs, tasks.eachMinute);
  const everyHour = every(3_600_000, lastMs, tasks.eachHour);
  const timer = setInterval(() => {
    const lateMs = clock.nowMs() - lastMs - periodMs;
    if (lateMs > freezeMs) clock.forgive(lateMs);
    const nowMs = clock.nowMs();
    lastMs = nowMs;
    tasks.often(nowMs);
    everyMinute(nowMs);
    everyHour(nowMs);
  }, periodMs);
  return () => clearInterval(timer);
}

/** Runs a task at most once per period, as often as it is asked. */
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
