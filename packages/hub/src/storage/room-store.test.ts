import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileRoomStore } from "./file-room-store.ts";
import {
  memoryRoomStore,
  noteStored,
  decodeRooms,
  decodeRoom,
  encodeRoom,
  encodeRooms,
  type RoomStore,
  type StoredRoom,
  applyStored,
  roomFromStored,
  storedRoomOf,
} from "./room-store.ts";
import { AliasTable } from "../domain/aliases/alias-table.ts";
import { KeyTable, type RoomKey } from "../domain/keys/key-table.ts";
import { TokenDay } from "../domain/keys/token-day.ts";
import { aRoom } from "../domain/room.fixture.ts";

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
const aKey = {
  ...{ id: "0b0c6f5e-1f5f-4f58-8f0e-6a3f1f0a2b22", name: "ada", may: ["use" as const] },
  ...{
    digest: "k".repeat(43),
    createdAt: 1,
    models: ["m"],
    requestsPerMinute: 5,
    previous: undefined,
    expiresAt: 9,
    revokedAt: undefined,
  },
  lastSeenDay: "2026-01-09",
};
const aRoomKey = { ...aKey, tokenDay: undefined };

test.each([
  ["nothing", "", "it is not JSON"],
  ["half a file", encodeRooms([valid]).slice(0, 80), "it is not JSON"],
  ["null", "null", "it is not a roomhub state file"],
  ["a list", "[]", "it is not of format version 1 or 2"],
  ["a newer format", '{"version":3,"rooms":[]}', "it is not of format version 1 or 2"],
  [
    "a key in the clear",
    stateOf({ ...valid, keys: [{ ...aKey, digest: "rhk_secret" }] }),
    "rooms.0.keys.0.digest is not valid",
  ],
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

const aliases = [
  { pattern: "claude-*", targets: ["qwen3-coder", "*"], createdAt: 1 },
  { pattern: "*", targets: ["*"], createdAt: 2 },
];

function aHostedRoom() {
  return {
    ...aRoom(),
    hostTokenDigest: new Uint8Array(32).fill(7),
    aliases: new AliasTable(aliases),
  };
}

test("a room comes back from the state file with its aliases in order and the digest of its host token", () => {
  const room = aHostedRoom();
  const [stored] = decodeRooms(encodeRooms([storedRoomOf(room, undefined)]));
  if (stored === undefined) throw new Error("the file has no room");
  const back = roomFromStored(stored);
  expect(back.aliases.list).toEqual(aliases);
  expect(Uint8Array.from(back.hostTokenDigest ?? [])).toEqual(room.hostTokenDigest);
  expect(storedRoomOf(back, undefined)).toEqual(storedRoomOf(room, undefined));
});

test("a state file of an older hub has rooms without aliases and without a host token", () => {
  const {
    aliases: _aliases,
    hostTokenDigest: _digest,
    ...older
  } = storedRoomOf(aRoom(), undefined);
  const text = JSON.stringify({ version: 1, rooms: [older] });
  const [stored] = decodeRooms(text);
  if (stored === undefined) throw new Error("the file has no room");
  const room = roomFromStored(stored);
  expect([room.aliases.size, room.hostTokenDigest]).toEqual([0, undefined]);
  expect(encodeRooms([storedRoomOf(room, undefined)])).toBe(encodeRooms([stored]));
});

test("the aliases of a stored room replace those of a room, whose participants stay", () => {
  const room = aHostedRoom();
  const { participants } = room;
  applyStored(room, { aliases: [{ pattern: "gpt-*", targets: ["*"], createdAt: 3 }] });
  expect(room.aliases.match("gpt-5")?.createdAt).toBe(3);
  expect(room.aliases.match("claude-opus")).toBeUndefined();
  applyStored(room, {});
  expect(room.aliases.size).toBe(0);
  expect(room.participants).toBe(participants);
});

test.each([
  ["an alias without targets", { aliases: [{ pattern: "a", targets: [], createdAt: 1 }] }],
  ["an alias that is none", { aliases: [{ pattern: 1 }] }],
  ["a host token in the clear", { hostTokenDigest: "rhh_secret" }],
])("a state file with %s is refused", (_title, fields) => {
  const rooms = [{ ...storedRoomOf(aRoom(), undefined), ...fields }];
  expect(() => decodeRooms(JSON.stringify({ version: 1, rooms }))).toThrow(
    /^rooms\.0\.\w+.* is not valid$/,
  );
});

test("a stored alias that leads to an alias has that one's targets once it is loaded", () => {
  const stored = [
    { pattern: "gpt-*", targets: ["big", "*"], createdAt: 1 },
    { pattern: "big", targets: ["qwen3-coder"], createdAt: 2 },
  ];
  const room = aRoom();
  applyStored(room, { aliases: stored });
  expect(room.aliases.match("gpt-5")?.targets).toEqual(["qwen3-coder", "*"]);
});

test("a closed room comes back with its keys, in a format that older versions refuse", () => {
  const keys = new KeyTable([
    { ...aRoomKey, tokenDay: spentDay(100, 40) },
    { ...aRoomKey, id: valid.id, previous: { digest: "p".repeat(43), endsAt: 3 } },
  ]);
  const stored = storedRoomOf({ ...aRoom(), isClosed: true, keys }, undefined);
  const file = JSON.parse(encodeRooms([stored, valid]));
  expect([file.version, file.rooms[0].closed]).toEqual([2, true]);
  const [back] = decodeRooms(encodeRooms([stored]));
  if (back === undefined) throw new Error("the file has no room");
  const room = roomFromStored(back);
  expect([room.isClosed, room.keys.list.map(withoutDay)]).toEqual([
    true,
    keys.list.map(withoutDay),
  ]);
  expect(room.keys.list.map(({ tokenDay }) => tokenDay?.spent(noonMs))).toEqual([40, undefined]);
  const entry = JSON.parse(encodeRoom(stored));
  expect(Object.keys(entry)).toEqual(["version", "room"]);
  expect(decodeRoom(encodeRoom(stored))).toEqual(back);
});

const noonMs = new Date(2026, 0, 9, 12).getTime();

function spentDay(limit: number, tokens: number): TokenDay {
  const day = new TokenDay(limit);
  day.reserve(0)(tokens, noonMs);
  return day;
}

function withoutDay({ tokenDay, ...key }: RoomKey) {
  return { ...key, limit: tokenDay?.limit };
}

test("what two hubs of a cluster spend of a key is added up, whatever each has stored", () => {
  const keys = new KeyTable([{ ...aRoomKey, tokenDay: spentDay(1_000, 40) }]);
  const room = { ...aRoom(), keys };
  const stored = storedRoomOf(room, undefined);
  const other = roomFromStored(structuredClone(stored));
  noteStored(room, stored);
  const spentBy = (one: typeof room) => one.keys.list[0]?.tokenDay?.spent(noonMs);
  const spend = (one: typeof room, tokens: number) =>
    one.keys.list[0]?.tokenDay?.reserve(0)(tokens, noonMs);
  expect(spentBy(other)).toBe(40);
  spend(room, 5);
  spend(other, 7);
  const second = storedRoomOf(other, undefined);
  noteStored(other, second);
  applyStored(room, second);
  // The directory reports to each hub what it has written itself, too.
  applyStored(other, second);
  expect([spentBy(room), spentBy(other)]).toEqual([52, 47]);
  const third = storedRoomOf(room, undefined);
  applyStored(room, third);
  noteStored(room, third);
  applyStored(other, third);
  expect([spentBy(room), spentBy(other)]).toEqual([52, 52]);
  expect(room.keys.list[0]?.tokenDay?.isStored).toBe(true);
});

test("a state file without closed rooms and keys is what older versions read and write", () => {
  expect(JSON.parse(encodeRooms([valid])).version).toBe(1);
  expect(Object.keys(JSON.parse(encodeRoom(valid)))).toContain("code");
  expect(JSON.parse(encodeRooms([{ ...valid, keys: [aKey] }])).version).toBe(2);
});

test("what another hub stored of keys replaces those of a room, except a later day of their last use", () => {
  const room = { ...aRoom(), keys: new KeyTable([{ ...aRoomKey, lastSeenDay: "2026-01-10" }]) };
  applyStored(room, { closed: true, keys: [{ ...aKey, revokedAt: 5 }] });
  expect(room.keys.list).toEqual([{ ...aRoomKey, revokedAt: 5, lastSeenDay: "2026-01-10" }]);
  expect(room.isClosed).toBe(true);
  applyStored(room, {});
  expect([room.isClosed, room.keys.size]).toEqual([false, 0]);
});
