import { systemWorld } from "@roomhub/protocol";
import { array, assert, boolean, constantFrom, integer, property, record } from "fast-check";
import { expect, test } from "vitest";
import { createClock } from "../clock.ts";
import { LivenessTracker } from "./liveness.ts";
import { aParticipant } from "./room.fixture.ts";

const offlineAfterMs = 30_000;
const bucketMs = 250;

function watched(lastSeenMs: number) {
  const liveness = new LivenessTracker(offlineAfterMs, bucketMs);
  const participant = aParticipant({ id: "a", lastSeenMs });
  liveness.watch(participant);
  return { liveness, participant };
}

test.each([
  [29_999, false],
  [30_000, false],
  [30_001, true],
])("after %i ms of silence it is overdue: %s", (silenceMs, isOverdue) => {
  const { liveness, participant } = watched(1_000);
  expect(liveness.takeOverdue(1_000 + silenceMs)).toEqual(isOverdue ? [participant] : []);
});

test("silence of exactly 30 s, looked at just then, is noticed one period later", () => {
  const { liveness, participant } = watched(1_000);
  expect(liveness.takeOverdue(31_000)).toEqual([]);
  expect(liveness.takeOverdue(31_250)).toEqual([participant]);
});

test("an overdue one is handed out once, however long it stays away", () => {
  const { liveness, participant } = watched(0);
  expect(liveness.takeOverdue(40_000)).toEqual([participant]);
  expect(liveness.takeOverdue(80_000)).toEqual([]);
  participant.presence.lastSeenMs = 90_000;
  liveness.watch(participant);
  expect(liveness.takeOverdue(120_000)).toEqual([]);
  expect(liveness.takeOverdue(120_250)).toEqual([participant]);
});

test("a sign of life is enough; it need not be announced", () => {
  const { liveness, participant } = watched(0);
  participant.presence.lastSeenMs = 29_000;
  expect(liveness.takeOverdue(58_999)).toEqual([]);
  expect(liveness.takeOverdue(59_250)).toEqual([participant]);
});

test("participants that left are not reported offline", () => {
  const { liveness, participant } = watched(0);
  liveness.forget(participant);
  liveness.forget(participant);
  expect(liveness.takeOverdue(100_000)).toEqual([]);
});

test("being watched twice does not count twice", () => {
  const { liveness, participant } = watched(0);
  liveness.watch(participant);
  expect(liveness.takeOverdue(40_000)).toEqual([participant]);
});

test("a sign of life from before a forgiven freeze is not in the future", () => {
  const { liveness, participant } = watched(0);
  // The lid was closed for 40 s; its heartbeat was read first, then the clock was set back.
  participant.presence.lastSeenMs = 50_000;
  expect(liveness.takeOverdue(10_250)).toEqual([]);
  const found: number[] = [];
  for (let nowMs = 10_500; nowMs < 100_000; nowMs += bucketMs) {
    if (liveness.takeOverdue(nowMs).length > 0) found.push(nowMs);
  }
  expect(found).toHaveLength(1);
  expect(found[0]).toBeLessThanOrEqual(30_000 + offlineAfterMs + 2 * bucketMs);
});

test("over any schedule each silence above 30 s is found once, within a period, and no other is", () => {
  const step = record({
    gapMs: constantFrom(250, 1_000, 9_999, 10_000, 29_999, 30_000, 30_001, 45_000),
    jitterMs: integer({ min: 0, max: 249 }),
    isFreeze: boolean(),
  });
  assert(
    property(array(step, { maxLength: 12 }), (steps) => {
      let passedMs = 5_000;
      let nextSweepMs = 5_000;
      const clock = createClock({ ...systemWorld, monotonicMs: () => passedMs, wallMs: () => 0 });
      const liveness = new LivenessTracker(offlineAfterMs, bucketMs);
      const participant = aParticipant({ id: "a", lastSeenMs: clock.world.monotonicMs() });
      liveness.watch(participant);
      let isOnline = true;
      const sweepUntil = (untilMs: number) => {
        for (; nextSweepMs <= untilMs; nextSweepMs += bucketMs) {
          const silenceMs = nextSweepMs - participant.presence.lastSeenMs;
          const overdue = liveness.takeOverdue(nextSweepMs);
          if (!isOnline) {
            expect(overdue).toEqual([]);
          } else if (overdue.length > 0) {
            expect(silenceMs).toBeGreaterThan(offlineAfterMs);
            isOnline = false;
          } else {
            expect(silenceMs).toBeLessThanOrEqual(offlineAfterMs + bucketMs);
          }
        }
      };
      for (const { gapMs, jitterMs, isFreeze } of steps) {
        passedMs += gapMs + jitterMs;
        if (isFreeze) clock.forgive(gapMs);
        sweepUntil(clock.world.monotonicMs());
        participant.presence.lastSeenMs = clock.world.monotonicMs();
        if (!isOnline) liveness.watch(participant);
        isOnline = true;
      }
      sweepUntil(clock.world.monotonicMs() + offlineAfterMs + 2 * bucketMs);
      expect(isOnline).toBe(false);
    }),
    { numRuns: 60 },
  );
});
