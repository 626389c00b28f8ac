import { describe, expect, test } from "vitest";
import type { Participant } from "./participant.ts";
import { beginTrial, isRoutable, renewCredentials, updateTrial } from "./readiness.ts";
import { aParticipant } from "./room.fixture.ts";

describe("a trial of refused credentials", () => {
  /** Refused since 10 s. */
  function locked() {
    const participant = aParticipant({
      id: "ana",
      tunnel: { kind: "open", readiness: "needs-credentials", problem: "", sinceMs: 10_000 },
    });
    updateTrial(participant);
    return participant;
  }
  const isTried = (participant: Participant, nowMs: number) => isRoutable(participant, () => nowMs);

  test("lets one request through after 5 s, and the next after twice as long, to 2 min", () => {
    const participant = locked();
    expect(isTried(participant, 14_999)).toBe(false);
    expect(isTried(participant, 15_000)).toBe(true);
    const delays: number[] = [];
    for (let nowMs = 15_000; delays.length < 7;) {
      beginTrial(participant, () => nowMs);
      const dueMs = participant.learned.credentials.trial?.dueMs ?? 0;
      expect(isTried(participant, dueMs - 1)).toBe(false);
      expect(isTried(participant, dueMs)).toBe(true);
      delays.push((dueMs - nowMs) / 1_000);
      nowMs = dueMs;
    }
    expect(delays).toEqual([10, 20, 40, 80, 120, 120, 120]);
  });

  test("is not begun anew by a second refusal, and ends with the refusals", () => {
    const participant = locked();
    beginTrial(participant, () => 15_000);
    updateTrial(participant);
    expect(isTried(participant, 24_999)).toBe(false);
    participant.paths.tunnel = { kind: "open", readiness: "ready", problem: "", sinceMs: 0 };
    updateTrial(participant);
    expect(participant.learned.credentials.trial).toBeUndefined();
  });

  test("is due at once for other credentials, then after 5 s", () => {
    const participant = locked();
    beginTrial(participant, () => 15_000);
    renewCredentials(participant, 80_000);
    expect(isTried(participant, 80_000)).toBe(true);
    beginTrial(participant, () => 80_000);
    expect(isTried(participant, 84_999)).toBe(false);
    expect(isTried(participant, 85_000)).toBe(true);
  });

  test("does not exist for a participant whose credentials are not refused", () => {
    const participant = aParticipant({ id: "ana" });
    updateTrial(participant);
    renewCredentials(participant, 0);
    beginTrial(participant, () => 0);
    expect(participant.learned.credentials).toEqual({ haveWorked: false, trial: undefined });
  });
});
