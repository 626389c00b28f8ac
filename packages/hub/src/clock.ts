/**
 * Time for deadlines: monotonic, and blind to the hub's own freezes. A laptop lid or a SIGSTOP must not make everybody
 * look silent, so the sweep reports the gap it noticed and all deadlines move by it. Contract §2.
 */
export interface Clock {
  /** ms, monotonic */
  nowMs(): number;
  /** epoch ms, for display only */
  wallMs(): number;
  /** Time that did not pass, because nothing ran. */
  forgive(gapMs: number): void;
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

export function createClock(source: TimeSource): Clock {
  let forgivenMs = 0;
  return {
    nowMs: () => source.monotonicMs() - forgivenMs,
    wallMs: () => source.wallMs(),
    forgive: (gapMs) => {
      forgivenMs += gapMs;
    },
  };
}
