import type { World } from "@roomhub/protocol";

/**
 * Time for deadlines: monotonic, without the time in which the hub itself was frozen. A laptop lid or a SIGSTOP must
 * not make every participant look silent, so a sweep that comes far too late moves all deadlines by the delay. Contract
 * §2.
 *
 * Between waking up and that sweep the delay must not count either: once the sweep is that late, the clock already
 * shows the time that the sweep will set.
 */
interface Clock {
  /** the world with this time; the wall clock is for display only */
  world: World;
  /** Excludes time in which nothing ran. */
  forgive(gapMs: number): void;
  /**
   * The sweep runs. Excludes a freeze since it was due.
   *
   * @param nextInMs - when it runs next; undefined for never, after which no freeze is noticed
   * @returns now
   */
  swept(nextInMs: number | undefined): number;
}

/** A sweep that is later than this shows that the hub itself was frozen. Contract §2. */
const freezeMs = 2_000;

export function createClock(source: World): Clock {
  let forgivenMs = 0;
  /** when the sweep runs next; infinite before the first one */
  let dueMs = Number.POSITIVE_INFINITY;

  const passedMs = () => source.monotonicMs() - forgivenMs;
  const withoutFreeze = (ms: number) => (ms - dueMs > freezeMs ? dueMs : ms);

  return {
    world: { ...source, monotonicMs: () => withoutFreeze(passedMs()) },
    forgive: (gapMs) => {
      forgivenMs += gapMs;
    },
    swept(nextInMs) {
      const ms = passedMs();
      const nowMs = withoutFreeze(ms);
      forgivenMs += ms - nowMs;
      dueMs = nextInMs === undefined ? Number.POSITIVE_INFINITY : nowMs + nextInMs;
      return nowMs;
    },
  };
}

export interface SweepTasks {
  /** each period */
  often: (nowMs: number) => void;
  /** well within 10 s */
  everyFewSeconds: () => void;
  /** about once a minute */
  eachMinute: () => void;
  /** about once an hour */
  eachHour: () => void;
}

/**
 * The hub's one timer. Checks deadlines and tunnels often, and expiry each minute. Each run is reported to the clock,
 * which notices by it that the hub was frozen.
 */
export function startSweep(clock: Clock, periodMs: number, tasks: SweepTasks): () => void {
  const startMs = clock.swept(periodMs);
  const everyFewSeconds = every(4_000, startMs, tasks.everyFewSeconds);
  const everyMinute = every(60_000, startMs, tasks.eachMinute);
  const everyHour = every(3_600_000, startMs, tasks.eachHour);
  const timer = clock.world.setInterval(() => {
    const nowMs = clock.swept(periodMs);
    tasks.often(nowMs);
    everyFewSeconds(nowMs);
    everyMinute(nowMs);
    everyHour(nowMs);
  }, periodMs);
  return () => {
    clock.world.clearInterval(timer);
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
