import { describe, expect, test } from "vitest";
import type { Participant } from "../participant.ts";
import type { Room } from "../room.ts";
import { aParticipant, aRoom } from "../room.fixture.ts";
import { Machines } from "../slots.ts";
import { SpareSlots } from "./spare-slots.ts";

/** Two participants of one machine with four slots, in rooms of their own. */
function onOneMachine(): { here: Participant; elsewhere: Participant } {
  const here = aParticipant({ id: "here", limit: 4 });
  const elsewhere = aParticipant({ id: "elsewhere", limit: 4, roomCode: "ZZ23CD" });
  const machines = new Machines();
  for (const one of [here, elsewhere]) machines.assign(one, "0123456789abcdef");
  return { here, elsewhere };
}

function isSpare(room: Room, one: Participant, time = "1970-01-01T00:00:00Z"): boolean {
  const wallMs = () => Date.parse(time);
  return new SpareSlots(room, () => 0, wallMs).has(one);
}

describe("a machine that rooms share", () => {
  test("has no slot for a batch while an interactive request of another room waits for it", () => {
    const { here, elsewhere } = onOneMachine();
    const room = aRoom(here);
    expect(isSpare(room, here)).toBe(true);
    elsewhere.load.queued = 1;
    expect(isSpare(room, here)).toBe(false);
  });

  test("keeps a slot of its own in a room that is interactive", () => {
    const { here } = onOneMachine();
    const { machine } = here.load;
    if (machine === undefined) throw new Error("it shares no machine");
    const room = aRoom(here);
    room.placing.lastInteractiveMs = 0;
    machine.batch = machine.limit - 2;
    expect(isSpare(room, here)).toBe(true);
    machine.batch = machine.limit - 1;
    expect(isSpare(room, here)).toBe(false);
  });
});

test("a participant serves batches in the hours of its own time zone, or never", () => {
  const at = (time: string, batches: Participant["batches"]) => {
    const ana = aParticipant({ id: "ana", batches });
    return isSpare(aRoom(ana), ana, time);
  };
  const night = { hours: "22-7", timeZone: "Europe/Berlin" };
  expect(at("2026-07-01T19:59:59Z", night)).toBe(false);
  expect(at("2026-07-01T20:00:00Z", night)).toBe(true);
  expect(at("2026-01-01T20:59:59Z", night)).toBe(false);
  expect(at("2026-01-01T22:30:00Z", night)).toBe(true);
  expect(at("2026-01-01T06:00:00Z", night)).toBe(false);
  expect(at("2026-01-01T22:30:00Z", false)).toBe(false);
});

test("a participant serves no batches from when their tokens are used up until its midnight", () => {
  const ana = aParticipant({ id: "ana" });
  const room = aRoom(ana);
  const resetAt = Date.parse("2026-05-06T00:00:00Z");
  ana.load.budget = { batchTokensPerDay: 100, remainingBatchTokens: 1, resetAt };
  expect(isSpare(room, ana, "2026-05-05T23:00:00Z")).toBe(true);
  ana.load.budget = { batchTokensPerDay: 100, remainingBatchTokens: 0, resetAt };
  expect(isSpare(room, ana, "2026-05-05T23:59:59Z")).toBe(false);
  expect(isSpare(room, ana, "2026-05-06T00:00:00Z")).toBe(true);
});
