import { within } from "../waiting.ts";

/** A hub's clock, moved by hand. */
export interface ManualTime {
  /** the hub's `time` option */
  source: { monotonicMs(): number; wallMs(): number };
  /** Moves on in small steps, each seen by the hub's sweep: a leap would look like a frozen hub and be forgiven. */
  advance(ms: number): Promise<void>;
  /** Moves on at once, as when the hub's machine slept. */
  leap(ms: number): Promise<void>;
}

/** What the hub's limits need beside it, so that a step takes no time. */
export const QUICK_SWEEP = { sweepIntervalMs: 2 };

const epochMs = Date.parse("2030-01-01T00:00:00Z");

/** @param stepMs - at most 2,000, or each step looks like a freeze */
export function createManualTime(stepMs = 500): ManualTime {
  let nowMs = 0;
  let wakeReaders: (() => void)[] = [];
  const nextRead = () => new Promise<void>((resolve) => wakeReaders.push(resolve));
  async function moveOn(ms: number): Promise<void> {
    nowMs += ms;
    await within(nextRead(), "the hub's sweep");
    // The reader was in the middle of its work: let it finish.
    await new Promise((resolve) => setImmediate(resolve));
  }

  return {
    source: {
      monotonicMs() {
        const waiting = wakeReaders;
        wakeReaders = [];
        for (const wake of waiting) wake();
        return nowMs;
      },
      wallMs: () => epochMs + nowMs,
    },
    async advance(ms) {
      for (let left = ms; left > 0; left -= stepMs) await moveOn(Math.min(stepMs, left));
    },
    leap: moveOn,
  };
}
