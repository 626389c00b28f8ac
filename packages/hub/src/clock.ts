/**
 * Time for deadlines: monotonic, and blind to the hub's own freezes. A laptop lid or a SIGSTOP must not make every
 * participant look silent, so a sweep that comes far too late moves all deadlines by the gap. Contract §2.
 *
 * What the hub handles after waking up and before that sweep is not to lie in the future by the gap: as soon as the
 * sweep is that late, the time is already the one it will find.
 */
interface Clock {
  /** ms, monotonic */
  nowMs(): number;
  /** epoch ms, for display only */
  wallMs(): number;
  /** Time that did not pass, because nothing ran. */
  forgive(gapMs: number): void;
  /**
   * The sweep has come. Forgives a freeze since it was due.
   *
   * @param nextInMs - when it comes again; undefined for not at all: no freeze is noticed from then on
   * @returns now
   */
  swept(nextInMs: number | undefined): number;
}

export interface TimeSource {
  /** ms, monotonic */
  monotonicMs(): number;
  /** epoch ms */
  wallMs(): number;
}

export const systemTime: TimeSource = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
};

/** Later than this beside its period, and it was the hub that stood still, not the others. Contract §2. */
const freezeMs = 2_000;

export function createClock(source: TimeSource): Clock {
  let forgivenMs = 0;
  /** when the sweep comes next; undefined before the first one */
  let dueMs = Number.POSITIVE_INFINITY;

  const passedMs = () => source.monotonicMs() - forgivenMs;
  const withoutFreeze = (ms: number) => (ms - dueMs > freezeMs ? dueMs : ms);

  return {
    nowMs: () => withoutFreeze(passedMs()),
    wallMs: () => source.wallMs(),
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
