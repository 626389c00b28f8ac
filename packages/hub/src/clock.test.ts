import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemWorld } from "@roomhub/protocol";
import { createClock, startSweep } from "./clock.ts";
import { Throttle } from "./credentials/throttle.ts";
import { LivenessTracker } from "./domain/liveness.ts";
import { aParticipant } from "./domain/room.fixture.ts";

function handmade() {
  const time = { monotonicMs: 1_000, wallMs: 1_700_000_000_000 };
  const clock = createClock({
    ...systemWorld,
    monotonicMs: () => time.monotonicMs,
    wallMs: () => time.wallMs,
  });
  return { time, clock };
}

describe("the clock", () => {
  test("passes with its source, and not while the hub was frozen", () => {
    const { time, clock } = handmade();
    time.monotonicMs += 40_500;
    clock.forgive(40_000);
    expect(clock.world.monotonicMs()).toBe(1_500);
    clock.forgive(100);
    expect(clock.world.monotonicMs()).toBe(1_400);
  });

  test("shows the wall's time as it is, jumps and all, and deadlines do not follow it", () => {
    const { time, clock } = handmade();
    time.wallMs -= 3_600_000;
    clock.forgive(5_000);
    expect(clock.world.wallMs()).toBe(1_700_000_000_000 - 3_600_000);
    expect(clock.world.monotonicMs()).toBe(-4_000);
  });

  test("runs on for 2 s after the sweep was due, and then is back at that moment until it comes", () => {
    const { time, clock } = handmade();
    clock.swept(250);
    time.monotonicMs = 3_250;
    expect(clock.world.monotonicMs()).toBe(3_250);
    time.monotonicMs = 3_251;
    expect(clock.world.monotonicMs()).toBe(1_250);
    time.monotonicMs = 3_600_000;
    expect([clock.world.monotonicMs(), clock.swept(250), clock.world.monotonicMs()]).toEqual([
      1_250, 1_250, 1_250,
    ]);
    time.monotonicMs += 100;
    expect(clock.world.monotonicMs()).toBe(1_350);
  });

  test("runs freely before the first sweep and after the last", () => {
    const { time, clock } = handmade();
    time.monotonicMs += 60_000;
    expect(clock.world.monotonicMs()).toBe(61_000);
    clock.swept(250);
    clock.swept(undefined);
    time.monotonicMs += 60_000;
    expect(clock.world.monotonicMs()).toBe(121_000);
  });

  test("of the system never goes back", () => {
    const before = systemWorld.monotonicMs();
    expect(systemWorld.monotonicMs()).toBeGreaterThanOrEqual(before);
    expect(Math.abs(systemWorld.wallMs() - Date.now())).toBeLessThan(1_000);
  });
});

describe("the sweep", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
  afterEach(() => void vi.useRealTimers());

  function sweeping() {
    const { time, clock } = handmade();
    const seen = { often: [] as number[], fewSeconds: 0, minutes: 0, hours: 0 };
    const stop = startSweep(clock, 250, {
      often: (nowMs) => void seen.often.push(nowMs),
      everyFewSeconds: () => void seen.fewSeconds++,
      eachMinute: () => void seen.minutes++,
      eachHour: () => void seen.hours++,
    });
    /** One period of the timer, during which so much time passes. */
    const period = (ms = 250) => {
      time.monotonicMs += ms;
      vi.advanceTimersByTime(250);
    };
    return { time, clock, seen, stop, period };
  }

  test("looks each period, and at the rarer things each minute and hour", () => {
    const { seen, period } = sweeping();
    for (let count = 0; count < 4 * 60; count++) period();
    expect(seen.often).toHaveLength(240);
    expect([seen.minutes, seen.hours]).toEqual([1, 0]);
    expect(seen.often.at(-1)).toBe(61_000);
    for (let minute = 1; minute < 60; minute++) {
      for (let count = 0; count < 4 * 60; count++) period();
    }
    expect([seen.minutes, seen.hours]).toEqual([60, 1]);
  });

  test("moves all deadlines by the gap when the hub itself stood still", () => {
    const { clock, seen, period } = sweeping();
    period();
    period(40_250);
    expect(seen.often).toEqual([1_250, 1_500]);
    expect(clock.world.monotonicMs()).toBe(1_500);
  });

  test("finds nothing in the future of what was handled between waking up and it", () => {
    const { time, clock, period } = sweeping();
    const attempts = new Throttle({ burst: 1, intervalMs: 2_000 });
    const liveness = new LivenessTracker(30_000, 250);
    period();
    time.monotonicMs += 3_600_000;
    attempts.record("ada", clock.world.monotonicMs());
    const participant = aParticipant({ id: "ada", lastSeenMs: clock.world.monotonicMs() });
    liveness.watch(participant);
    period();
    expect(attempts.retryAfterMs("ada", clock.world.monotonicMs())).toBe(2_000);
    expect(participant.presence.lastSeenMs).toBe(clock.world.monotonicMs());
    for (let count = 0; count <= 4 * 30; count++) period();
    expect(liveness.takeOverdue(clock.world.monotonicMs())).toEqual([participant]);
  });

  test("takes a delay of up to 2 s for a busy hub, not for a frozen one", () => {
    const { seen, period } = sweeping();
    period(2_250);
    period(2_251);
    expect(seen.often).toEqual([3_250, 3_500]);
  });

  test("stops, and the clock waits for it no longer", () => {
    const { clock, seen, stop, period } = sweeping();
    stop();
    period(60_000);
    expect(seen.often).toEqual([]);
    expect(clock.world.monotonicMs()).toBe(61_000);
  });
});
