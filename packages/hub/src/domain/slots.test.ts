import { array, assert, constantFrom, property } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Machines,
  roomsToWake,
  updateMachineLimit,
  updateLimit,
  isFull,
  occupySlot,
  releaseSlot,
} from "./slots.ts";
import { nothingReported, type Participant } from "./participant.ts";
import { aParticipant, type ParticipantFields } from "./room.fixture.ts";

const alice = { address: "192.0.2.1", person: "alice" };

const declares = (limit: number) => ({ limit, limitFrom: "declared" }) as const;
const reports = (limit: number) =>
  ({ limit, limitFrom: "engine", reported: { limit, limitFrom: "engine", elsewhere: 0 } }) as const;

const by = (agentId: string, limit: number) => ({ agentId, ...declares(limit) });
/** It declares 3 where its model server has 4 slots. */
const knows = (agentId: string) => ({ ...reports(4), ...by(agentId, 3) });

function group(...fields: ParticipantFields[]): Participant[] {
  const machines = new Machines();
  return fields.map((each, index) => {
    const participant = aParticipant({ id: `p${index}`, ...each });
    machines.assign(participant, "abcdef0123456789");
    return participant;
  });
}

describe("the slots of a machine are", () => {
  test.each([
    ["what its model server reports", [reports(4), reports(4)], 4],
    ["what the most careful declares, where none names its agent", [declares(3), declares(2)], 2],
    ["what one agent declares most, once", [by("a", 3), by("a", 2)], 3],
    ["what six agents declare, added up", ["a", "b", "c", "d", "e", "f"].map((id) => by(id, 1)), 6],
    ["those of the agents that name none, once", [by("a", 2), declares(3), declares(1)], 3],
    ["what is reported, though less is declared", [reports(4), by("a", 1), by("b", 1)], 4],
    ["what is reported, though agents declare more together", [knows("a"), knows("b")], 4],
    ["what is declared, where its own server reports less", [{ ...reports(1), ...by("a", 3) }], 3],
    [
      "what one of those that name none declares, whatever is assumed for others",
      [declares(1), { limit: 4 }],
      1,
    ],
    ["what is assumed, where that is more than is declared", [by("a", 1), { limit: 4 }], 4],
    ["as many as one alone has, where neither is known", [{ limit: 4 }, { limit: 4 }], 4],
    ["not counted, where the server queues by itself", [reports(256), reports(256)], Infinity],
  ])("%s", (_what, members, expected) => {
    const fields = members.map((one) => ({ limitFrom: "default" as const, ...one }));
    expect(group(...fields)[0]?.load.machine?.limit).toBe(expected);
  });
});

test("one participant's requests leave less for the others of its machine", () => {
  const [llama, qwen] = group(declares(1), declares(1)) as [Participant, Participant];
  const machine = occupySlot(llama, alice, 5);
  expect(isFull(qwen)).toBe(true);
  expect(qwen.load.active).toBe(0);
  releaseSlot(llama, machine, alice, 5);
  expect(isFull(qwen)).toBe(false);
});

test("a participant's own limit applies on top", () => {
  const [one, other] = group(declares(1), reports(4)) as [Participant, Participant];
  occupySlot(one, alice, 0);
  expect(isFull(one)).toBe(true);
  expect(isFull(other)).toBe(false);
});

test("a freed slot is offered to every room with a participant of the machine, the last one served last", () => {
  const [one, other] = group({ roomCode: "AAA" }, { roomCode: "BBB" }) as [
    Participant,
    Participant,
  ];
  expect(roomsToWake("AAA", one.load.machine)).toEqual(["BBB", "AAA"]);
  expect(roomsToWake("BBB", other.load.machine)).toEqual(["AAA", "BBB"]);
  expect(roomsToWake("CCC", undefined)).toEqual(["CCC"]);
});

test("a machine that has no participants left is forgotten", () => {
  const machines = new Machines();
  const participant = aParticipant({ id: "a" });
  machines.assign(participant, "0123456789abcdef");
  expect(participant.load.machine?.id).toBe("01234567");
  machines.assign(participant, "fedcba9876543210");
  expect(participant.load.machine?.id).toBe("fedcba98");
  machines.assign(participant, undefined);
  expect([machines.size, participant.load.machine]).toEqual([0, undefined]);
});

test("whatever participants come, move and leave while requests run, slots are neither exceeded nor leaked", () => {
  const steps = array(
    constantFrom("start 0", "start 1", "end", "move 0", "move 1", "leave 0", "join 0"),
    { maxLength: 60 },
  );
  assert(
    property(steps, (all) => {
      const machines = new Machines();
      const members = [declares(2), declares(3)].map((fields, index) =>
        aParticipant({ id: `p${index}`, ...fields }),
      );
      for (const one of members) machines.assign(one, "00000000");
      const running: (() => void)[] = [];
      for (const step of all) {
        const [what, index] = step.split(" ");
        const one = members[Number(index ?? 0)] as Participant;
        if (what === "start" && !isFull(one)) {
          const machine = occupySlot(one, alice, 0);
          running.push(() => releaseSlot(one, machine, alice, 0));
        }
        if (what === "end") running.shift()?.();
        if (what === "move") machines.assign(one, "11111111");
        if (what === "join") machines.assign(one, "00000000");
        if (what === "leave") machines.assign(one, undefined);
        for (const {
          load: { active, limit, startedMs },
        } of members) {
          expect(active).toBeLessThanOrEqual(limit);
          expect(startedMs).toHaveLength(active);
        }
      }
      for (const end of running) end();
      for (const {
        load: { active, machine },
      } of members) {
        expect(active).toBe(0);
        expect(machine?.active ?? 0).toBe(0);
        if (machine !== undefined) updateMachineLimit(machine);
      }
    }),
  );
});

const engine = { limit: 4, limitFrom: "engine", elsewhere: 0 } as const;

test.each([
  ["what is declared", { maxConcurrency: 9 }, engine, 9, "declared"],
  ["what the model server reports", {}, engine, 4, "engine"],
  ["what the agent learned", {}, { ...engine, limitFrom: "learned" as const }, 4, "learned"],
  ["at most the hub's own", {}, { ...engine, limit: 999 }, 256, "engine"],
  ["what is assumed", {}, nothingReported, 3, "default"],
] as const)("the limit of a participant is %s", (_what, config, reported, limit, limitFrom) => {
  const participant = aParticipant({ id: "a", config, reported });
  updateLimit(participant, { assumedConcurrency: 3, inFlightPerParticipant: 256 });
  expect(participant.load).toMatchObject({ limit, limitFrom });
});
