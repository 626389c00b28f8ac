import { describe, expect, test } from "vitest";
import type { RoomHome } from "./context.ts";
import { createOffice, home, peerAt } from "./operations.fixture.ts";
import { leaveParticipant } from "./participants.ts";
import { createRoom, dropUnusedRooms, getRoom, listRooms, useRoom } from "./rooms.ts";

const dayMs = 24 * 3_600_000;

describe("creating a room", () => {
  test("gives it a code, two ids and a time, says so once, and writes it down", async () => {
    const office = createOffice();
    office.seen();
    const saved = office.saveCount();
    const { room, hostId } = await createRoom(
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
    expect(listRooms(office.context, undefined, peerAt(home)).map((one) => one.code)).toEqual([
      office.room,
      room.code,
    ]);
  });

  test("a null password is none", async () => {
    const { context } = createOffice();
    const { room } = await createRoom(context, { name: "a", password: null }, peerAt(home));
    expect(room.passwordProtected).toBe(false);
    expect(context.roomPasswords.size).toBe(0);
  });

  test("is throttled by address: 20 at once, then one each 6 s", async () => {
    const { context, pass } = createOffice();
    const create = (address: string) => createRoom(context, { name: "a" }, peerAt(address));
    await Promise.all(Array.from({ length: 20 }, () => create(home)));
    await expect(create(home)).rejects.toMatchObject({
      ...{ code: "rate_limit_exceeded", status: 429, retryAfterMs: 6_000 },
    });
    await create("10.0.0.1");
    pass(6_000);
    await create(home);
    await expect(create(home)).rejects.toThrow(/Too many rooms/);
  });

  test.each([undefined, "swordfish"])(
    "with password %s responds, lists and announces the room once it is on disk, not before",
    async (password) => {
      const office = createOffice();
      const disk = Promise.withResolvers<void>();
      const started = Promise.withResolvers<void>();
      office.behaviour.disk = disk.promise;
      office.context.rooms = saving(office.context.rooms, started.resolve);
      const creating = createRoom(office.context, { name: "a", password }, peerAt(home));
      await started.promise;
      const [kept] = [...office.context.registry.allRooms()].slice(-1);
      expect(kept?.isPasswordProtected).toBe(password !== undefined);
      expect(office.context.roomPasswords.has(kept?.code ?? "")).toBe(password !== undefined);
      expect(office.seen()).toEqual([]);
      expect(listRooms(office.context, undefined, peerAt(home)).map(({ code }) => code)).toEqual([
        office.room,
      ]);
      expect(() => getRoom(office.context, kept?.code ?? "")).toThrow(/no room/);
      disk.resolve();
      const { room } = await creating;
      expect(room.code).toBe(kept?.code);
      expect(office.seen()).toEqual([`room.created ${room.code}`]);
      expect(getRoom(office.context, room.code)).toEqual(room);
    },
  );

  test("leaves no trace when its password cannot be digested", async () => {
    const office = createOffice({ limits: { rooms: 2 } });
    office.context.passwordKeeper.fromPassword = () => Promise.reject(new Error("out of memory"));
    const create = (password?: string) =>
      createRoom(office.context, { name: "a", password }, peerAt(home));
    await expect(create("swordfish")).rejects.toThrow("out of memory");
    expect([office.context.registry.roomCount, office.saveCount()]).toEqual([1, 0]);
    await create();
  });
});

describe("at the room limit", () => {
  const limits = { rooms: 3 };

  test("n rooms are held, n + 1 is refused while all are young, those being created included", async () => {
    const office = createOffice({ limits });
    const created = [office.addRoom(), office.addRoom()];
    await expect(office.addRoom()).rejects.toMatchObject({ code: "room_limit_reached" });
    await Promise.all(created);
    office.pass(dayMs);
    await expect(office.addRoom()).rejects.toMatchObject({
      ...{ code: "room_limit_reached", status: 503 },
    });
    expect(office.context.registry.roomCount).toBe(3);
  });

  test("the longest unused above 24 h makes way, but no room with participants", async () => {
    const office = createOffice({ limits });
    const [second, third] = [await office.addRoom("x"), await office.addRoom("x")];
    await office.join();
    office.pass(1_000);
    office.context.registry.room(second).lastUsedAt = office.context.wallMs();
    // Both have been unused for long enough; the one created last for longer.
    office.pass(dayMs + 1);
    const next = await office.addRoom();
    expect(office.dropped).toEqual([third]);
    expect(listRooms(office.context, undefined, peerAt(home)).map((room) => room.code)).toEqual([
      office.room,
      second,
      next,
    ]);
    expect([...office.context.roomPasswords.keys()]).toEqual([second]);
  });
});

describe("an unused room", () => {
  test("is dropped after 30 days, and removed from the file", () => {
    const office = createOffice();
    office.pass(30 * dayMs);
    expect(dropUnusedRooms(office.context)).toBe(0);
    const saved = office.saveCount();
    office.pass(1);
    expect(dropUnusedRooms(office.context)).toBe(1);
    expect([office.dropped, office.saveCount()]).toEqual([[office.room], saved + 1]);
    expect(() => getRoom(office.context, office.room)).toThrow(/was deleted/);
    expect(dropUnusedRooms(office.context)).toBe(0);
    expect(office.saveCount()).toBe(saved + 1);
  });

  test("is left to the hub of the cluster that drops it", () => {
    const office = createOffice();
    office.pass(31 * dayMs);
    office.context.rooms.isOurs = () => false;
    expect([dropUnusedRooms(office.context), office.dropped]).toEqual([0, []]);
  });

  test("was used by its watchers", () => {
    const office = createOffice();
    office.pass(20 * dayMs);
    expect(useRoom(office.context, office.room)).toEqual(getRoom(office.context, office.room));
    office.pass(20 * dayMs);
    expect(dropUnusedRooms(office.context)).toBe(0);
    expect(() => useRoom(office.context, "ZZZZZZ")).toThrow(/no room/);
  });

  test("was in use as long as it had participants", async () => {
    const office = createOffice();
    await office.join();
    office.pass(40 * dayMs);
    expect(dropUnusedRooms(office.context)).toBe(0);
    await leaveParticipant(office.context, office.room, "ada", peerAt(home));
    expect(dropUnusedRooms(office.context), "its last one only just left").toBe(0);
    office.pass(30 * dayMs + 1);
    expect(dropUnusedRooms(office.context)).toBe(1);
  });
});

/** The same, and calls back each time. */
function saving(rooms: RoomHome, onCall: () => void): RoomHome {
  return {
    ...rooms,
    keep(room) {
      const kept = rooms.keep(room);
      onCall();
      return kept;
    },
  };
}
