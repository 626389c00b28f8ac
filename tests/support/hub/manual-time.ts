import { systemWorld, type World } from "@roomhub/protocol";
import { within } from "../waiting.ts";

/** A hub's clock, moved by hand. */
export interface ManualTime {
  /** the hub's `world` option: its timers wait for real */
  world: World;
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
  let swept = Promise.withResolvers<void>();
  async function moveOn(ms: number): Promise<void> {
    nowMs += ms;
    await within(swept.promise, "the hub's sweep");
    // It may have left work to the end of this turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  return {
    world: {
      ...systemWorld,
      monotonicMs: () => nowMs,
      wallMs: () => epochMs + nowMs,
      setInterval: (task, ms) =>
        systemWorld.setInterval(() => {
          task();
          swept.resolve();
          swept = Promise.withResolvers();
        }, ms),
    },
    async advance(ms) {
      for (let left = ms; left > 0; left -= stepMs) await moveOn(Math.min(stepMs, left));
    },
    leap: moveOn,
  };
}
