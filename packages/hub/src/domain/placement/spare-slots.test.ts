import { describe, expect, test } from "vitest";
import type { Participant } from "../participant.ts";
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

describe("a machine that rooms share", () => {
  test("has no slot for a batch while an interactive request of another room waits for it", () => {
    const { here, elsewhere } = onOneMachine();
    const isSpare = () => new SpareSlots(aRoom(here), () => 0).has(here);
    expect(isSpare()).toBe(true);
    elsewhere.load.queued = 1;
    expect(isSpare()).toBe(false);
  });

  test("keeps a slot of its own in a room that is interactive", () => {
    const { here } = onOneMachine();
    const { machine } = here.load;
    if (machine === undefined) throw new Error("it shares no machine");
    const room = aRoom(here);
    room.placing.lastInteractiveMs = 0;
    machine.batch = machine.limit - 2;
    expect(new SpareSlots(room, () => 0).has(here)).toBe(true);
    machine.batch = machine.limit - 1;
    expect(new SpareSlots(room, () => 0).has(here)).toBe(false);
  });
});
