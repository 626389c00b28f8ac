import { describe, expect, test } from "vitest";
import { createOffice, home, peerAt } from "./operations.fixture.ts";
import { leaveParticipant } from "./participants.ts";
import { createRoom, dropUnusedRooms, getRoom, listRooms, useRoom } from "./rooms.ts";

const dayMs = 24 * 3_600_000;

describe("creating a room", () => {
  test("gives it a code, two ids and a time, says so once, and writes it down", () => {
    const office = createOffice();
    office.seen();
    const saved = office.saveCount();
    const { room, hostId } = createRoom(
      office.context,
      { name: "Cafe\u0301", password: "x" },
      peerAt(home),
    );
    expect(room).toMatchObject({
      name: "Caf\u00e9",
      hostId,
      createdAt: office.context.wallMs(),
      passwordProtected: true,
      participantCount: 0,
    });
    expect(room.code).toMatch(/^[2-9A-HJKMNP-Z]{6}$/);
    expect(new Set([room.id, hostId]).size).toBe(2);
    expect(JSON.stringify(room)).not.toContain('password":');
    expect(office.seen()).toEqual([`room.created ${room.code}`]);
    expect(office.saveCount()).toBe(saved + 1);
    expect(getRoom(office.context, room.code.toLowerCase())).toEqual(room);
    expect(listRooms(office.context).map((one) => one.code)).toEqual([office.room, room.code]);
  });

  test("a null password is none", () => {
    const { context } = createOffice();
    const { room } = createRoom(context, { name: "a", password: null }, peerAt(home));
    expect(room.passwordProtected).toBe(false);
    expect(context.roomPasswords.size).toBe(0);
  });

  test("is throttled by address: 20 at once, then one each 6 s", () => {
    const { context, pass } = createOffice();
    const create = (address: string) => createRoom(context, { name: "a" }, peerAt(address));
    for (let count = 0; count < 20; count++) create(home);
    expect(() => create(home)).toThrow(
      expect.objectContaining({ code: "rate_limit_exceeded", status: 429, retryAfterMs: 6_000 }),
    );
    expect(() => create("10.0.0.1")).not.toThrow();
    pass(6_000);
    expect(() => create(home)).not.toThrow();
    expect(() => create(home)).toThrow(/Too many rooms/);
  });
});

describe("at the room limit", () => {
  const limits = { rooms: 3 };

  test("n rooms are held, n + 1 is refused while all are young", () => {
    const office = createOffice({ limits });
    office.addRoom();
    office.addRoom();
    office.pass(dayMs);
    expect(() => office.addRoom()).toThrow(
      expect.objectContaining({ code: "room_limit_reached", status: 503 }),
    );
    expect(office.context.registry.roomCount).toBe(3);
  });

  test("the longest unused above 24 h makes way, but no room that somebody is in", async () => {
    const office = createOffice({ limits });
    const [second, third] = [office.addRoom("x"), office.addRoom("x")];
    await office.join();
    office.pass(1_000);
    office.context.registry.room(second).lastUsedAt = office.context.wallMs();
    // Both have been unused for long enough; the one created last for longer.
    office.pass(dayMs + 1);
    const next = office.addRoom();
    expect(office.dropped).toEqual([third]);
    expect(listRooms(office.context).map((room) => room.code)).toEqual([office.room, second, next]);
    expect([...office.context.roomPasswords.keys()]).toEqual([second]);
  });
});

describe("a room that nobody uses", () => {
  test("is dropped after 30 days, and written down as gone", () => {
    const office = createOffice();
    office.pass(30 * dayMs);
    expect(dropUnusedRooms(office.context)).toBe(0);
    const saved = office.saveCount();
    office.pass(1);
    expect(dropUnusedRooms(office.context)).toBe(1);
    expect([office.dropped, office.saveCount()]).toEqual([[office.room], saved + 1]);
    expect(() => getRoom(office.context, office.room)).toThrow(/no room/);
    expect(dropUnusedRooms(office.context)).toBe(0);
    expect(office.saveCount()).toBe(saved + 1);
  });

  test("was used by whoever watches it", () => {
    const office = createOffice();
    office.pass(20 * dayMs);
    expect(useRoom(office.context, office.room)).toEqual(getRoom(office.context, office.room));
    office.pass(20 * dayMs);
    expect(dropUnusedRooms(office.context)).toBe(0);
    expect(() => useRoom(office.context, "ZZZZZZ")).toThrow(/no room/);
  });

  test("was in use as long as somebody was in it", async () => {
    const office = createOffice();
    await office.join();
    office.pass(40 * dayMs);
    expect(dropUnusedRooms(office.context)).toBe(0);
    leaveParticipant(office.context, office.room, "ada", peerAt(home));
    expect(dropUnusedRooms(office.context), "its last one only just left").toBe(0);
    office.pass(30 * dayMs + 1);
    expect(dropUnusedRooms(office.context)).toBe(1);
  });
});
