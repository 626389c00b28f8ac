import { describe, expect, test } from "vitest";
import { HubError } from "../errors.ts";
import { Registry } from "./registry.ts";
import { aParticipant, aRoom } from "./room.fixture.ts";

function filled() {
  const registry = new Registry();
  const room = aRoom();
  registry.addRoom(room);
  return { registry, room };
}

test("rooms are found in any letter case and listed in creation order", () => {
  const { registry, room } = filled();
  const other = { ...aRoom(), code: "ZZZ999" };
  registry.addRoom(other);
  expect(registry.findRoom("abc234")).toBe(room);
  expect(registry.room("aBc234")).toBe(room);
  expect([...registry.rooms()]).toEqual([room, other]);
  expect(registry.hasCode("ZZZ999")).toBe(true);
  expect(registry.roomCount).toBe(2);
});

test("a reserved room has a place and a code, and is found when it is added", () => {
  const { registry, room } = filled();
  const reserved = { ...aRoom(), code: "ZZZ999" };
  registry.reserve(reserved);
  expect([registry.roomCount, registry.hasCode("ZZZ999")]).toEqual([2, true]);
  expect([...registry.rooms()]).toEqual([room]);
  expect([...registry.allRooms()]).toEqual([room, reserved]);
  expect(registry.findRoom("ZZZ999")).toBeUndefined();
  registry.addRoom(reserved);
  expect([...registry.rooms()]).toEqual([room, reserved]);
  expect([...registry.allRooms()]).toEqual([room, reserved]);
  registry.reserve({ ...aRoom(), code: "YYY888" });
  registry.removeRoom({ ...aRoom(), code: "YYY888" });
  expect([registry.roomCount, registry.hasCode("YYY888")]).toEqual([2, false]);
});

test("a room that was removed is refused for good, and its code is not given to another one", () => {
  const { registry, room } = filled();
  registry.removeRoom(room);
  const deleted = { code: "room_not_found", message: "Room ABC234 was deleted.", isFinal: true };
  expect(() => registry.room("abc234")).toThrow(expect.objectContaining(deleted));
  expect(registry.hasCode("ABC234")).toBe(true);
  expect(() => registry.room("ZZZ999")).toThrow(expect.objectContaining({ isFinal: false }));
  registry.addRoom(room);
  expect(registry.room("ABC234")).toBe(room);
});

test("an unknown room and an unknown participant are named in short, quoted", () => {
  const { registry, room } = filled();
  const long = `"\n${"x".repeat(300)}`;
  expect(() => registry.room(long)).toThrow(HubError);
  expect(() => registry.room(long)).toThrow(/There is no room "\\"\\nx{98}" on this hub/);
  expect(() => registry.participant(room, "ghost")).toThrow(
    'There is no participant "ghost" in room ABC234.',
  );
});

test.each([
  ["ABC234 ", "Write ABC234, with nothing around it."],
  ['"abc234"', "Write ABC234, with nothing around it."],
  ["Lab", "That is a room's name; its code is ABC234."],
  ["ABC243", "Did you mean ABC234? roomhub room list"],
  ["QQQQQQ", "roomhub room list"],
  ["", "roomhub room list"],
])("a room requested as %j is refused with the hint %j", (text, hint) => {
  const { registry } = filled();
  expect(() => registry.room(text)).toThrow(expect.objectContaining({ hint }));
});

describe("the count of participants", () => {
  test("follows every join, replacement, leave and dropped room", () => {
    const { registry, room } = filled();
    const a = aParticipant({ id: "a" });
    const again = aParticipant({ id: "a" });
    registry.add(room, a);
    registry.add(room, aParticipant({ id: "b" }));
    expect(registry.participantCount).toBe(2);
    registry.add(room, again);
    expect(registry.participantCount).toBe(2);
    registry.remove(room, a);
    expect(registry.participantCount, "the old one is not the current one").toBe(2);
    registry.remove(room, again);
    registry.remove(room, again);
    expect(registry.participantCount).toBe(1);
    registry.removeRoom(room);
    registry.removeRoom(room);
    expect(registry.participantCount).toBe(0);
    expect(registry.roomCount).toBe(0);
  });

  test("equals what a walk over all participants finds", () => {
    const { registry, room } = filled();
    for (const id of ["a", "b", "c"]) registry.add(room, aParticipant({ id }));
    expect([...registry.participants()].map((one) => one.id)).toEqual(["a", "b", "c"]);
  });
});

test("only the registration under the id is current", () => {
  const { registry, room } = filled();
  const old = aParticipant({ id: "a" });
  const current = aParticipant({ id: "a" });
  registry.add(room, old);
  registry.add(room, current);
  expect(registry.isCurrent(old)).toBe(false);
  expect(registry.isCurrent(current)).toBe(true);
  registry.removeRoom(room);
  expect(registry.isCurrent(current)).toBe(false);
});

test("an id such as __proto__ is a name like any other", () => {
  const { registry, room } = filled();
  expect(() => registry.participant(room, "__proto__")).toThrow(HubError);
  registry.add(room, aParticipant({ id: "__proto__" }));
  expect(registry.participant(room, "__proto__").id).toBe("__proto__");
});
