import { describe, expect, test } from "vitest";
import type { RoomPassword } from "./credentials/passwords.ts";
import { noteRefusedContext } from "./domain/needs/model-facts.ts";
import { EventBus } from "./events/bus.ts";
import { GivenRoom, snapshotOf, type SnapshotParts } from "./hub-snapshot.ts";
import { InFlight } from "./inference/in-flight.ts";
import { StoredResponses } from "./inference/stored-responses.ts";
import { SlotsBefore } from "./operations/homes/slots-before.ts";
import { createOffice, peerAt } from "./operations/operations.fixture.ts";
import { checkRoomPassword } from "./operations/join-participant.ts";

const machineSecret = "m".repeat(43);

/** A hub with the room, whose clock differs from the other one's. */
async function hub(aheadMs: number) {
  const office = createOffice({ limits: { passwordAttemptsPerRoom: 2 } });
  const { context, room } = office;
  office.pass(aheadMs);
  const password: RoomPassword = await context.passwordKeeper.fromPassword("swordfish");
  context.roomPasswords.set(room, password);
  const parts: SnapshotParts = {
    operations: context,
    bus: new EventBus("boot", () => undefined),
    inFlight: new InFlight(),
    storedResponses: new StoredResponses(10),
    slots: new SlotsBefore(),
    computer: "c",
  };
  const lab = context.registry.room(room);
  return {
    ...{ ...office, parts, lab },
    give: (password: string | undefined, address: string) =>
      checkRoomPassword(context, lab, password, peerAt(address)).then(
        () => "right",
        ({ code }: { code: string }) => code,
      ),
    ada: () => context.registry.participant(lab, "ada"),
  };
}

async function handedOver(before: Awaited<ReturnType<typeof hub>>, from = "a") {
  const next = await hub(5_000_000);
  const home = { hubId: from, bootId: "1", epoch: 1 };
  const given = new GivenRoom(snapshotOf(before.parts, before.room, { from: home, number: 1 }));
  given.takePlace(next.parts, before.room);
  return next;
}

test("who gave a room's password, and who guessed, is known at its next home", async () => {
  const before = await hub(0);
  expect(await before.give("swordfish", "10.0.0.1")).toBe("right");
  before.pass(1_000);
  for (const address of ["10.0.0.2", "10.0.0.3"])
    expect(await before.give("tuna", address)).toBe("invalid_password");
  const next = await handedOver(before);
  expect(await next.give("swordfish", "10.0.0.4")).toBe("too_many_attempts");
  expect(await next.give("swordfish", "10.0.0.1")).toBe("right");
  next.pass(60_000);
  expect(await next.give("swordfish", "10.0.0.4")).toBe("right");
});

test("a caller's wrong passwords still count at the room's next home, for as long as they would have", async () => {
  const before = await hub(0);
  for (let count = 0; count < 5; count++) await before.give(undefined, "10.0.0.2");
  before.pass(1_500);
  const next = await handedOver(before);
  expect(await next.give("swordfish", "10.0.0.2")).toBe("too_many_attempts");
  next.pass(500);
  expect(await next.give("swordfish", "10.0.0.2")).toBe("right");
});

test("how fast a participant is, and which prompts are too long for it, is known at the room's next home", async () => {
  const before = await hub(0);
  await before.join({ password: "swordfish" });
  const nowMs = before.context.nowMs();
  before
    .ada()
    .learned.pace.noteFirst("stream", { promptBytes: 4_000, coldBytes: 4_000 }, 800, nowMs);
  noteRefusedContext(before.ada(), 9_000, nowMs);
  before.pass(60_000);
  const next = await handedOver(before);
  const figures = (at: typeof next) =>
    at.ada().learned.pace.expectedFirstMs("stream", 4_000, at.context.nowMs());
  expect(figures(next)).toBe(figures(before));
  const { learned } = next.ada();
  expect([learned.context, learned.usableTokens]).toEqual([
    { tokens: 9_000, from: "learned" },
    9_000,
  ]);
  expect(learned.refused?.untilMs).toBe(next.context.nowMs() + 9 * 60_000);
});

test("a request waits at the room's next home until a model server is no longer overloaded", async () => {
  const before = await hub(0);
  await before.join({ password: "swordfish" });
  before.ada().load.overloadedUntilMs = before.context.nowMs() + 10_000;
  const { context, ada, pass } = await handedOver(before);
  const due = () => context.trials.takeDue(context.nowMs(), () => true);
  expect(due()).toEqual([]);
  pass(10_000);
  expect(due()).toEqual([ada()]);
});

describe("the slot of a request that runs at an earlier home", () => {
  const running = {
    ...{ requestId: "req_1", participantId: "ada", hub: undefined, runsForMs: 5 },
    holder: { address: "10.0.0.9", person: "" },
  };
  const first = { hubId: "first", bootId: "1", epoch: 1 };

  /** The second home of the room, at a machine that has a participant in another room, too. */
  async function second() {
    const before = await hub(0);
    await before.join({ password: "swordfish", machineSecret });
    const next = await handedOver(before, "first");
    const { context, parts, room } = next;
    await next.join({ id: "bob", machineSecret }, undefined, await next.addRoom());
    parts.slots.hold(context, room, first, running);
    return { ...next, machine: next.ada().load.machine };
  }

  test("is free again for other rooms of its machine when the room moves on", async () => {
    const { context, parts, room, machine } = await second();
    expect(machine?.active).toBe(1);
    parts.slots.releaseRoom(context, room);
    expect(machine?.active).toBe(0);
  });

  test("is taken at each next home until that first one ends", async () => {
    const third = await handedOver(await second(), "second");
    const active = () => third.ada().load.active;
    const gone = (hubId: string) =>
      third.parts.slots.releaseWhere(third.context, (hub) => hub.hubId === hubId);
    gone("second");
    expect(active()).toBe(1);
    gone("first");
    expect(active()).toBe(0);
  });
});
