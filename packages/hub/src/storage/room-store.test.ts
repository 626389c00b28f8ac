import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileRoomStore } from "./file-room-store.ts";
import { memoryRoomStore } from "./memory-room-store.ts";
import { decodeRooms, encodeRooms, type RoomStore, type StoredRoom } from "./room-store.ts";

const digest = `scrypt$32768$8$1$${"a".repeat(22)}$${"b".repeat(43)}`;

function room(name: string, passwordDigest?: string): StoredRoom {
  const times = { createdAt: 1_700_000_000_000, lastUsedAt: 1_700_000_000_001 };
  const ids = { id: randomUUID(), hostId: randomUUID(), code: "AB23CD" };
  return { ...ids, ...times, name, ...(passwordDigest === undefined ? {} : { passwordDigest }) };
}

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "roomhub-store-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Every store: `open()` twice stands for two lives of a hub. */
const stores: Record<string, () => () => RoomStore> = {
  memory: () => {
    const store = memoryRoomStore();
    return () => store;
  },
  file: () => {
    const path = join(directory, randomUUID(), "rooms.json");
    const onWarning = (message: string) => {
      throw new Error(`unexpected warning: ${message}`);
    };
    return () => fileRoomStore(path, { onWarning });
  },
};

describe.each(Object.entries(stores))("a %s store", (_kind, prepare) => {
  test("is empty at first", async () => {
    const store = prepare()();
    await expect(store.load()).resolves.toEqual([]);
    await store.close();
  });

  test("gives back in its next life what was saved, in the same order", async () => {
    const open = prepare();
    const rooms = [room("lab"), room('Bär 🐻 \u2028 "quoted"\n', digest), room("cellar")];
    const first = open();
    await first.load();
    await first.save(rooms);
    await first.close();
    const second = open();
    await expect(second.load()).resolves.toEqual(rooms);
    await second.close();
  });

  test("keeps the last save, not the sum of all", async () => {
    const open = prepare();
    const first = open();
    await first.load();
    await first.save([room("one"), room("two")]);
    const last = [room("three")];
    await first.save(last);
    await first.close();
    const second = open();
    await expect(second.load()).resolves.toEqual(last);
    await second.close();
  });

  test("lets the latest of many saves at once win", async () => {
    const open = prepare();
    const first = open();
    await first.load();
    const last = [room("last")];
    const saves = Array.from({ length: 50 }, (_, index) => first.save([room(`room ${index}`)]));
    await Promise.all([...saves, first.save(last)]);
    await first.close();
    const second = open();
    await expect(second.load()).resolves.toEqual(last);
    await second.close();
  });

  test("finishes on close what was being saved", async () => {
    const open = prepare();
    const first = open();
    await first.load();
    const rooms = [room("lab")];
    void first.save(rooms);
    await first.close();
    const second = open();
    await expect(second.load()).resolves.toEqual(rooms);
    await second.close();
  });

  test("saves nothing after close, and a second close is harmless", async () => {
    const open = prepare();
    const first = open();
    await first.load();
    await first.close();
    await first.close();
    await first.save([room("late")]);
    const second = open();
    await expect(second.load()).resolves.toEqual([]);
    await second.close();
  });

  test("is not changed through what it was given or what it gave", async () => {
    const open = prepare();
    const first = open();
    await first.load();
    const rooms = [room("lab")];
    await first.save(rooms);
    rooms[0]!.name = "changed";
    await first.close();
    const second = open();
    const loaded = await second.load();
    expect(loaded.map(({ name }) => name)).toEqual(["lab"]);
    await second.close();
  });
});

test("only the listed fields of a room are written, whatever else the object carries", () => {
  const text = encodeRooms([
    { ...room("lab"), authHeaders: "CANARY", participants: ["CANARY"] } as StoredRoom,
  ]);
  expect(text).not.toContain("CANARY");
  expect(Object.keys(decodeRooms(text)[0] ?? {}).sort()).toEqual([
    "code",
    "createdAt",
    "hostId",
    "id",
    "lastUsedAt",
    "name",
  ]);
});

const valid = room("lab");
test.each([
  ["nothing", "", "it is not JSON"],
  ["half a file", encodeRooms([valid]).slice(0, 80), "it is not JSON"],
  ["null", "null", "it is not a roomhub state file"],
  ["a list", "[]", "it is not of format version 1"],
  ["a newer format", '{"version":2,"rooms":[]}', "it is not of format version 1"],
  ["no rooms", '{"version":1}', "it holds no list of rooms"],
  ["a room without a code", stateOf({ ...valid, code: undefined }), "rooms.0.code is not valid"],
  ["an id that is no uuid", stateOf({ ...valid, id: "x" }), "rooms.0.id is not valid"],
  ["a time as text", stateOf({ ...valid, createdAt: "now" }), "rooms.0.createdAt is not valid"],
  [
    "a password in the clear",
    stateOf({ ...valid, passwordDigest: "swordfish" }),
    "rooms.0.passwordDigest is not valid",
  ],
  [
    "a digest that costs too much to check",
    stateOf({ ...valid, passwordDigest: digest.replace("32768", "262144") }),
    "rooms.0.passwordDigest is not valid",
  ],
])("a state file with %s is refused with the place and never the text", (_title, text, message) => {
  expect(() => decodeRooms(text)).toThrow(new Error(message));
});

function stateOf(stored: object): string {
  return JSON.stringify({ version: 1, rooms: [stored] });
}
