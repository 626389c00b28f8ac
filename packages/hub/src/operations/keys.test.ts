import { expect, test } from "vitest";
import {
  closeRoom,
  createKey,
  endWithKeys,
  listKeys,
  openRoom,
  revokeKey,
  rotateKey,
} from "./keys.ts";
import { createOffice, home, peerAt } from "./operations.fixture.ts";
import { createRoom, dropUnusedRooms } from "./rooms.ts";

const dayMs = 24 * 3_600_000;

test("a key is created on disk with its rights and its end, and its value is in one response", async () => {
  const office = createOffice();
  const { context, room } = office;
  const saved = office.saveCount();
  const key = await createKey(context, room, {
    name: "Ada",
    may: ["watch", "watch"],
    models: ["m", "n", "m"],
    requestsPerMinute: 5,
    expiresInMs: 5,
  });
  expect(office.saveCount()).toBe(saved + 1);
  expect(key).toEqual({
    ...{ id: expect.any(String), name: "Ada", may: ["watch"], createdAt: context.wallMs() },
    models: ["m", "n"],
    requestsPerMinute: 5,
    ...{ expiresAt: context.wallMs() + 5, value: expect.stringMatching(/^rhk_[\w-]{43}$/) },
  });
  const { value: _, ...listed } = key;
  expect(listKeys(context, room)).toEqual([listed]);
  expect((await createKey(context, room, { name: "bob" })).may).toEqual(["use", "watch"]);
});

test("a name belongs to one key of the room whatever its case, until 30 days after that was revoked", async () => {
  const { context, room, pass } = createOffice();
  await createKey(context, room, { name: "Ada" });
  const again = () => createKey(context, room, { name: "aDA" });
  await expect(again()).rejects.toMatchObject({ code: "key_name_taken", param: "name" });
  await revokeKey(context, room, "ada");
  await expect(again()).rejects.toMatchObject({ code: "key_name_taken" });
  pass(30 * dayMs);
  await again();
  expect(listKeys(context, room).map(({ name }) => name)).toEqual(["aDA"]);
});

test("a room has as many keys as keysPerRoom says, and one more is refused", async () => {
  const { context, room } = createOffice({ limits: { keysPerRoom: 2 } });
  await createKey(context, room, { name: "a" });
  await createKey(context, room, { name: "b" });
  await expect(createKey(context, room, { name: "c" })).rejects.toMatchObject({
    code: "too_many_keys",
  });
});

test("a rotation gives the same key another value, which a revoked key does not get", async () => {
  const { context, room } = createOffice();
  const key = await createKey(context, room, { name: "ada" });
  const rotated = await rotateKey(context, room, key.id, 1_000);
  expect(rotated).toEqual({ ...key, value: expect.stringMatching(/^rhk_/) });
  expect(rotated.value).not.toBe(key.value);
  await revokeKey(context, room, "ada");
  const missing = { code: "key_not_found" };
  await expect(rotateKey(context, room, "ada", 0)).rejects.toMatchObject(missing);
  await expect(rotateKey(context, room, "eve", 0)).rejects.toMatchObject(missing);
  await expect(revokeKey(context, room, "eve")).rejects.toMatchObject(missing);
});

test("a change that another hub got ahead of is undone", async () => {
  const { context, room } = createOffice();
  const { rooms } = context;
  context.rooms = { ...rooms, keep: () => Promise.resolve(false), isOurs: () => true };
  const conflict = { code: "cluster_unavailable" };
  await expect(createKey(context, room, { name: "ada" })).rejects.toMatchObject(conflict);
  await expect(closeRoom(context, room)).rejects.toMatchObject(conflict);
  expect(listKeys(context, room)).toEqual([]);
  expect(context.registry.room(room).isClosed).toBe(false);
});

test("a room that is opened keeps its keys, and the response says that nothing needs them", async () => {
  const { context, room } = createOffice();
  expect((await closeRoom(context, room)).closed).toBe(true);
  await createKey(context, room, { name: "ada" });
  const opened = await openRoom(context, room);
  expect(opened).toMatchObject({ warnings: [{ code: "keys_unused" }] });
  expect(opened.room.closed).toBeUndefined();
  expect(listKeys(context, room)).toHaveLength(1);
});

test("a closed room is dropped when it is unused and none of its keys is valid any more", async () => {
  const { context, pass } = createOffice();
  const { room } = await createRoom(context, { name: "a", closed: true }, peerAt(home));
  pass(31 * dayMs);
  dropUnusedRooms(context);
  expect(context.registry.findRoom(room.code)).toBeDefined();
  await revokeKey(context, room.code, "host");
  dropUnusedRooms(context);
  expect(context.registry.findRoom(room.code)).toBeUndefined();
});

test("a participant of a closed room ends with the key that it joined with, its tunnel too, and in an open room it stays", async () => {
  const office = createOffice();
  const { context, room } = office;
  const { id } = await createKey(context, room, { name: "ada" });
  const key = context.registry.room(room).keys.find(id);
  if (key === undefined) throw new Error("the room has the key");
  const holder = { kind: "key", key, digest: key.digest } as const;
  const { participant } = await office.join({ id: "ada" }, peerAt(home, { holder }));
  await office.join({ id: "eve" });
  office.openTunnel(participant);
  await closeRoom(context, room);
  endWithKeys(context);
  expect(office.closedTunnels).toEqual([]);
  await revokeKey(context, room, "ada");
  await openRoom(context, room);
  endWithKeys(context);
  expect(office.closedTunnels).toEqual([]);
  await closeRoom(context, room);
  endWithKeys(context);
  expect(office.closedTunnels).toEqual([["ada", "left"]]);
  expect([...context.registry.room(room).participants.keys()]).toEqual(["eve"]);
  expect(office.seen()).toContain("participant.left ada");
});

test("a participant that joins again with its token alone still ends with its key", async () => {
  const office = createOffice();
  const { context, room } = office;
  await createKey(context, room, { name: "ada" });
  const [key] = context.registry.room(room).keys.list;
  if (key === undefined) throw new Error("the room has a key");
  const holder = { kind: "key", key, digest: key.digest } as const;
  const { token } = await office.join({ id: "ada" }, peerAt(home, { holder }));
  const { participant } = await office.join({ id: "ada" }, peerAt(home, { token }));
  expect(participant.keyId).toBe(key.id);
});
