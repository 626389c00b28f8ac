import { expect, test } from "vitest";
import { roomView } from "../domain/views.ts";
import { bansIn, deleteRoom, kickParticipant, liftBan, updateRoom } from "./host.ts";
import { createOffice, elsewhere, home, peerAt } from "./operations.fixture.ts";

const machineSecret = "m".repeat(43);

test("a room gets another name and another password, and is stored before the response", async () => {
  const office = createOffice();
  const { context, room } = office;
  const saved = office.saveCount();
  expect(await updateRoom(context, room, { name: "new" })).toMatchObject({
    ...{ code: room, name: "new", passwordProtected: false },
  });
  expect(office.saveCount()).toBe(saved + 1);
  await updateRoom(context, room, { password: "swordfish" });
  await expect(office.join()).rejects.toMatchObject({ code: "invalid_password" });
  await office.join({ password: "swordfish" });
  expect(await updateRoom(context, room, { password: null })).toMatchObject({
    ...{ name: "new", passwordProtected: false },
  });
  await office.join({ id: "bob" });
});

test("a change of name and password that another hub got ahead of is undone", async () => {
  const { context, room } = createOffice();
  const before = roomView(context.registry.room(room));
  context.rooms = { ...context.rooms, keep: () => Promise.resolve(false) };
  const change = updateRoom(context, room, { name: "new", password: "swordfish" });
  await expect(change).rejects.toMatchObject({ code: "cluster_unavailable" });
  expect(roomView(context.registry.room(room))).toEqual(before);
  expect(context.roomPasswords.has(room)).toBe(false);
});

test("a room that is deleted ends its requests, then its participants, then its streams, and is gone from disk", async () => {
  const office = createOffice();
  const { context, room } = office;
  const { participant } = await office.join();
  office.openTunnel(participant);
  const deleted = context.registry.room(room);
  const saved = office.saveCount();
  await deleteRoom(context, room);
  expect(deleted.isDeleted).toBe(true);
  expect(office.accessChangeCount()).toBe(1);
  expect(office.seen().at(-1)).toBe("participant.left ada");
  expect(office.closedTunnels).toEqual([["ada", "left"]]);
  expect(office.dropped).toEqual([room]);
  expect(office.saveCount()).toBe(saved + 1);
  expect(context.registry.findRoom(room)).toBeUndefined();
  await expect(deleteRoom(context, room)).rejects.toMatchObject({ code: "room_not_found" });
});

test("a participant that was kicked may not join again by its id, from its machine or address, until the ban is over", async () => {
  const office = createOffice();
  const { context, room, pass } = office;
  await office.join({ machineSecret });
  await kickParticipant(context, room, "ada", 60_000);
  expect(office.events.at(-1)).toMatchObject({
    ...{ name: "participant.left", shown: { participantId: "ada", reason: "kicked" } },
  });
  const banned = { code: "participant_banned" };
  await expect(office.join({}, peerAt(elsewhere))).rejects.toMatchObject(banned);
  await expect(office.join({ id: "eve" }, peerAt(home))).rejects.toMatchObject(banned);
  await expect(office.join({ id: "eve", machineSecret }, peerAt(elsewhere))).rejects.toMatchObject(
    banned,
  );
  await office.join({ id: "bob" }, peerAt(elsewhere));
  pass(60_000);
  await office.join({ machineSecret });
});

test("a ban is listed until it is over, and lifted by the participant's id for all that it covers", async () => {
  const office = createOffice();
  const { context, room, pass } = office;
  await office.join({ machineSecret });
  await kickParticipant(context, room, "ada", 60_000);
  const ada = { id: "ada", address: home, until: context.wallMs() + 60_000 };
  expect(bansIn(context, room)).toEqual([ada]);
  expect(await liftBan(context, room, "bob")).toEqual([ada]);
  const saved = office.saveCount();
  expect(await liftBan(context, room, "ada")).toEqual([]);
  expect(office.saveCount()).toBe(saved + 1);
  await office.join({ id: "eve", machineSecret }, peerAt(home));
  await kickParticipant(context, room, "eve", 60_000);
  pass(60_000);
  expect(bansIn(context, room)).toEqual([]);
});

test("the ban of a neighbour leaves a participant that is in the room its token, and everyone the hub's own machine", async () => {
  const office = createOffice();
  const { context, room } = office;
  const { token } = await office.join({ id: "bob" });
  await office.join();
  await kickParticipant(context, room, "ada", 60_000);
  await office.join({ id: "bob" }, peerAt(home, { token }));
  await office.join({ id: "carl" }, peerAt("127.0.0.1"));
  await kickParticipant(context, room, "carl", 60_000);
  await office.join({ id: "dave" }, peerAt("127.0.0.1"));
});
