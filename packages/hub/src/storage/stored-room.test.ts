import { expect, test } from "vitest";
import { AliasTable } from "../domain/aliases/alias-table.ts";
import { aRoom } from "../domain/room.fixture.ts";
import { decodeRooms, encodeRooms } from "./room-store.ts";
import { applyStoredAliases, roomFromStored, storedRoomOf } from "./stored-room.ts";

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
  applyStoredAliases(room, { aliases: [{ pattern: "gpt-*", targets: ["*"], createdAt: 3 }] });
  expect(room.aliases.match("gpt-5")?.createdAt).toBe(3);
  expect(room.aliases.match("claude-opus")).toBeUndefined();
  applyStoredAliases(room, {});
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
