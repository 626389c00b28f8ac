import { expect, test } from "vitest";
import { Replica } from "../../cluster/directory-compliance.fixture.ts";
import { RegistrationWriter } from "../../cluster/homes/registration-writer.ts";
import { createMemoryCluster, type MemoryCluster } from "../../cluster/memory-cluster.fixture.ts";
import { storedRegistrationOf } from "../../domain/stored-registration.ts";
import { createOffice, home, peerAt, tokenOf } from "../operations.fixture.ts";
import { expireParticipants, leaveParticipant } from "../participants.ts";
import { updateParticipant } from "../update-participant.ts";
import { restoreParticipants } from "./restore-participants.ts";

const computer = "0a0a";

/** The operations of one hub that is the home of its room, over a directory. */
async function openHub(cluster: MemoryCluster = createMemoryCluster()) {
  const office = createOffice();
  const { context, room } = office;
  const directory = cluster.directory();
  await directory.open(new Replica());
  let isLeaving = false;
  const writer = new RegistrationWriter({
    directory,
    registry: context.registry,
    encode: (participant) =>
      storedRegistrationOf(participant, {
        hasAuthHeaders: context.vault.has(participant.key),
        computer,
        storedAt: context.wallMs(),
      }),
    homes: {
      placeOf: () => ({ kind: "here", epoch: 1 }),
      isLeaving: () => isLeaving,
      epochHere: () => 1,
      confirm: async () => {},
    },
    wallMs: context.wallMs,
    reportBug: (error) => {
      throw error;
    },
  });
  context.registrations = writer;
  const stored = () => directory.readRegistrations(room);
  /** What the next home of the room begins with. */
  const succeed = async () => {
    const next = createOffice();
    restoreParticipants(next.context, next.room, await stored(), computer);
    return next;
  };
  const leave = () => void (isLeaving = true);
  return { ...office, directory, writer, stored, succeed, leave };
}

test("a join is stored when it is confirmed, with a secret of it nowhere", async () => {
  const office = await openHub();
  const joined = await office.join({
    authHeaders: { authorization: "Bearer CANARY-1" },
    config: { temperature: 0.5, instructions: "CANARY-2" },
    machineSecret: "CANARY-3".padEnd(43, "x"),
  });
  const [ada] = await office.stored();
  expect(ada).toMatchObject({
    ...{ id: "ada", roomCode: office.room, config: { temperature: 0.5 } },
    has: { authHeaders: true, instructions: true, machineSecret: true },
    tokenDigest: joined.participant.tokenDigest,
  });
  expect(JSON.stringify(ada)).not.toContain("CANARY");
  expect(JSON.stringify(ada)).not.toContain(tokenOf(joined));
});

test("a join registers nothing when its room goes to another home while the password is checked", async () => {
  const { context, addRoom, join, leave, seen } = await openHub();
  const code = await addRoom("swordfish");
  const stored = context.roomPasswords.get(code)?.stored ?? "";
  context.roomPasswords.set(code, context.passwordKeeper.fromStored(stored));
  seen();
  const joining = join({ password: "swordfish" }, peerAt(home), code);
  leave();
  await expect(joining).rejects.toMatchObject({ code: "home_elsewhere" });
  expect([...context.registry.room(code).participants, ...seen()]).toEqual([]);
});

test("a join again, a change and a leave are stored when they are confirmed", async () => {
  const office = await openHub();
  const token = tokenOf(await office.join());
  await office.join({ nickname: "Ada 2" }, peerAt(home, { token }));
  expect(await office.stored()).toMatchObject([{ nickname: "Ada 2" }]);
  const change = { nickname: "Ada 3", endpoint: "http://10.0.0.9:1", liveness: "probe" } as const;
  await updateParticipant(office.context, office.room, "ada", change, peerAt(home));
  expect(await office.stored()).toMatchObject([change]);
  await leaveParticipant(office.context, office.room, "ada", peerAt(home));
  expect(await office.stored()).toEqual([]);
});

test("an expired participant, and one whose id is taken over, are stored no more", async () => {
  const office = await openHub();
  await office.join();
  await office.join({ id: "bob" });
  office.pass(40_000);
  await office.join({ id: "bob", nickname: "Eve" }, peerAt("192.168.1.9"));
  const nicknames = (await office.stored()).map(({ nickname }) => nickname);
  expect(nicknames.sort()).toEqual(["Ada", "Eve"]);
  office.pass(40_000);
  office.pass(24 * 3_600_000);
  expireParticipants(office.context);
  await office.writer.retry();
  expect(await office.stored()).toEqual([]);
});

test("a join while the directory is away is confirmed, and stored when it is back", async () => {
  const office = await openHub();
  office.directory.cutOff();
  await expect(office.join()).resolves.toMatchObject({ isNew: true });
  office.directory.heal();
  expect(await office.stored()).toEqual([]);
  await office.writer.retry();
  expect(await office.stored()).toMatchObject([{ id: "ada" }]);
});

test("a token that one home issued is good at the next, which is told nothing else of it", async () => {
  const office = await openHub();
  const joined = await office.join({ transport: "tunnel", authHeaders: { "x-key": "CANARY" } });
  const next = await office.succeed();
  const ada = next.context.registry.room(next.room).participants.get("ada");
  expect(ada).toMatchObject({
    nickname: "Ada",
    presence: { status: "online", joinedAt: joined.participant.presence.joinedAt },
  });
  expect(next.context.vault.has(ada?.key ?? "")).toBe(false);
  const peer = peerAt("192.168.1.9", { token: tokenOf(joined) });
  await expect(next.join({ transport: "tunnel" }, peer)).resolves.toMatchObject({ isNew: false });
  next.openTunnel(ada ?? joined.participant);
  next.pass(29_000);
  expect(next.seen().filter((event) => !event.startsWith("participant.updated"))).toEqual([]);
});
