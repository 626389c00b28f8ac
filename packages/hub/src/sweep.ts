import type { Clock } from "./clock.ts";

export interface SweepTasks {
  /** each period */
  often: (nowMs: number) => void;
  /** about once a second */
  eachSecond: (nowMs: number) => void;
  /** about once a minute */
  eachMinute: () => void;
}

/** Later than this beside its period, and it was the hub that stood still, not the others. Contract §2. */
const freezeMs = 2_000;

/**
 * The hub's one timer. Looks at deadlines often, at tunnels each second, at what expires each minute; and when it finds
 * that the hub itself was frozen, moves every deadline by the gap.
 */
export function startSweep(clock: Clock, periodMs: number, tasks: SweepTasks): () => void {
  let lastMs = clock.nowMs();
  let lastSecondMs = lastMs;
  let lastMinuteMs = lastMs;
  const timer = setInterval(() => {
    const lateMs = clock.nowMs() - lastMs - periodMs;
    if (lateMs > freezeMs) clock.forgive(lateMs);
    const nowMs = clock.nowMs();
    lastMs = nowMs;
    tasks.often(nowMs);
    if (nowMs - lastSecondMs >= 1_000) {
      lastSecondMs = nowMs;
      tasks.eachSecond(nowMs);
    }
    if (nowMs - lastMinuteMs >= 60_000) {
      lastMinuteMs = nowMs;
      tasks.eachMinute();
    }
  }, periodMs);
  return () => clearInterval(timer);
}
