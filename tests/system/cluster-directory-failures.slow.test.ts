import { systemWorld, type World } from "@roomhub/protocol";
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  aPresence,
  aStoredRoom,
  Replica,
} from "../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import { aRegistration } from "../../packages/hub/src/cluster/homes/registration.fixture.ts";
import { Bucket } from "../../packages/hub/src/cluster/nats/bucket.ts";
import { storageWarning } from "../../packages/hub/src/cluster/nats/buckets.ts";
import { connectToNats } from "../../packages/hub/src/cluster/nats/nats-connection.ts";
import {
  NatsDirectory,
  type NatsDirectoryOptions,
} from "../../packages/hub/src/cluster/nats/nats-directory.ts";
import { hasNatsServer, natsSkipped, startNatsServer } from "../support/programs/nats-server.ts";
import { until } from "../support/waiting.ts";
import { openTcpGate } from "../support/programs/tcp-gate.ts";

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function aServer(args: readonly string[] = []) {
  return stack.use(await startNatsServer(args));
}

/** An open directory that reconnects within 80 ms, and what it reported. */
async function openHub(url: string, options: Partial<NatsDirectoryOptions> = {}) {
  const world = { ...systemWorld, random: () => Math.random() * 0.02 };
  const warnings: string[] = [];
  const onWarning = (message: string) => warnings.push(message);
  const directory = new NatsDirectory({ servers: [url], world, onWarning, ...options });
  stack.defer(() => directory.close());
  const replica = new Replica();
  await directory.open(replica);
  const isUp = () => replica.states.at(-1) === true;
  return {
    directory,
    replica,
    warnings,
    untilDown: () => replica.until("the loss of NATS", () => !isUp()),
    untilUp: () => replica.until("the return of NATS", isUp),
  };
}

describe.skipIf(!hasNatsServer)(`a directory over NATS${natsSkipped}`, () => {
  test("fails to open without a server, naming it and not its password", async () => {
    const server = await aServer();
    await server.kill();
    const directory = new NatsDirectory({
      servers: [`nats://hub:s3cret@127.0.0.1:${server.port}`],
    });
    const error = await directory.open(new Replica()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "DirectoryUnavailable" });
    expect(String(error)).toContain(`127.0.0.1:${server.port}`);
    expect(String(error)).not.toContain("s3cret");
    await directory.close();
  });

  test("fails to open with a wrong password, and opens with the right one", async () => {
    const { port } = await aServer(["--user", "hub", "--pass", "s3cret"]);
    const wrong = new NatsDirectory({ servers: [`nats://hub:s3cred@127.0.0.1:${port}`] });
    await expect(wrong.open(new Replica())).rejects.toThrow(/[Aa]uthorization/);
    await wrong.close();
    const { directory } = await openHub(`nats://hub:s3cret@127.0.0.1:${port}`);
    expect(directory.isUp).toBe(true);
  });

  test("keeps acknowledged changes when the server is killed, and sees them after its restart", async () => {
    const server = await aServer();
    const [one, other] = [await openHub(server.url), await openHub(server.url)];
    const revisions: (number | undefined)[] = [];
    for (let at = 0; at < 50; at++)
      revisions.push(await one.directory.putRoom(aStoredRoom(`AB23${10 + at}`), 0));
    await server.kill();
    await Promise.all([one.untilDown(), other.untilDown()]);
    await expect(one.directory.putRoom(aStoredRoom("ZZ23CD"), 0)).rejects.toMatchObject({
      name: "DirectoryUnavailable",
    });
    await server.restart();
    await Promise.all([one.untilUp(), other.untilUp()]);
    expect(one.replica.rooms.size).toBe(50);
    expect(other.replica.rooms.size).toBe(50);
    // None was reported again: their revisions are the same.
    expect([...other.replica.revisions.values()].flat()).toEqual(revisions);
    const next = await other.directory.putRoom(aStoredRoom("AB2310", "new"), revisions[0] ?? 0);
    expect(next).toBeGreaterThan(revisions.at(-1) ?? 0);
  });

  test("writes back what a server lost that keeps it in memory, at higher revisions", async () => {
    const server = await aServer();
    const options = { storage: "memory" } as const;
    const [one, other] = [await openHub(server.url, options), await openHub(server.url, options)];
    const first = (await one.directory.putRoom(aStoredRoom("AB23CD"), 0)) ?? 0;
    await one.directory.putRoom(aStoredRoom("AB23CD", "newer"), first);
    await other.replica.until("it", () => other.replica.rooms.get("AB23CD")?.name === "newer");
    await server.kill();
    await Promise.all([one.untilDown(), other.untilDown()]);
    await server.restart();
    await Promise.all([one.untilUp(), other.untilUp()]);
    for (const { replica } of [one, other]) {
      await replica.until("all", () => replica.rooms.size === 1);
      expect(replica.rooms.get("AB23CD")?.name).toBe("newer");
    }
    const { revision = 0 } = (await other.directory.readRoom("AB23CD")) ?? {};
    expect(revision).toBeGreaterThan(first + 1);
    await expect(one.directory.putRoom(aStoredRoom("AB23CD"), first + 1)).resolves.toBeUndefined();
    await expect(one.directory.putRoom(aStoredRoom("AB23CD"), revision)).resolves.toBeGreaterThan(
      revision,
    );
  });

  test("writes back what a server lost also when the first attempt fails, and reports none of it as deleted", async () => {
    const server = await aServer();
    const { directory, replica, untilDown, untilUp } = await openHub(server.url, {
      storage: "memory",
    });
    const before = (await directory.putRoom(aStoredRoom("AB23CD"), 0)) ?? 0;
    await replica.until("the room", () => replica.rooms.has("AB23CD"));
    await server.kill();
    await untilDown();
    const put = vi.spyOn(Bucket.prototype, "put").mockRejectedValueOnce(new Error("timeout"));
    stack.defer(() => put.mockRestore());
    await server.restart();
    await untilUp();
    expect(put).toHaveBeenCalledTimes(2);
    expect(replica.rooms.has("AB23CD")).toBe(true);
    const stored = await directory.readRoom("AB23CD");
    expect(stored?.revision).toBeGreaterThan(before);
  });

  test("has lost homes and registrations with a server that keeps them in memory, and says so before it is up", async () => {
    const server = await aServer();
    const hub = await openHub(server.url, { storage: "memory" });
    const home = { hubId: "a".repeat(16), bootId: "a".repeat(8), epoch: 3 };
    await hub.directory.putHome("AB23CD", home, 0);
    await hub.directory.putRegistration(aRegistration("AB23CD", "ada"));
    await hub.replica.until("the home", () => hub.replica.homes.size === 1);
    await server.kill();
    await hub.untilDown();
    await server.restart();
    await hub.untilUp();
    expect(hub.replica.losses).toEqual([[true, false]]);
    expect(hub.replica.homes.size).toBe(0);
    await expect(hub.directory.readRegistrations("AB23CD")).resolves.toEqual([]);
    await expect(hub.directory.putHome("AB23CD", home, 0)).resolves.toEqual(expect.any(Number));
  });

  test("keeps homes and registrations when the server is killed", async () => {
    const server = await aServer();
    const { directory, replica, untilDown, untilUp } = await openHub(server.url);
    const home = { hubId: "a".repeat(16), bootId: "a".repeat(8), epoch: 3 };
    const revision = await directory.putHome("AB23CD", home, 0);
    await directory.putRegistration(aRegistration("AB23CD", "ada"));
    await server.kill();
    await untilDown();
    await server.restart();
    await untilUp();
    await expect(directory.readHome("AB23CD")).resolves.toEqual({ home, revision });
    await expect(directory.readRegistrations("AB23CD")).resolves.toEqual([
      aRegistration("AB23CD", "ada"),
    ]);
    expect(replica.losses).toEqual([]);
  });

  test("notices within 10 s that a connection carries nothing any more, and comes back", async () => {
    const server = await aServer();
    const gate = stack.use(await openTcpGate(server.port));
    const cut = await openHub(`nats://127.0.0.1:${gate.port}`);
    cut.directory.announce(() => aPresence("00000000000000aa"));
    const other = await openHub(server.url);
    gate.hold();
    const pending = cut.directory.putRoom(aStoredRoom("AB23CD"), 0);
    await expect(pending).rejects.toMatchObject({ name: "DirectoryUnavailable" });
    await cut.replica.until("the loss", () => cut.replica.states.at(-1) === false, 10_000);
    await other.directory.putRoom(aStoredRoom("CD23EF"), 0);
    gate.close();
    gate.open();
    await cut.untilUp();
    expect(cut.replica.rooms.has("CD23EF")).toBe(true);
  });

  test("comes back when the server stood still for a while", async () => {
    const server = await aServer();
    const hub = await openHub(server.url);
    let beat = 0;
    hub.directory.announce(() => aPresence("00000000000000aa", ++beat));
    const other = await openHub(server.url);
    server.pause();
    await hub.untilDown();
    server.resume();
    await hub.untilUp();
    await hub.directory.putRoom(aStoredRoom("AB23CD"), 0);
    await other.untilUp();
    await other.replica.until("the room", () => other.replica.rooms.size === 1);
  });

  test("sees the last state of everything although it read too slowly to see each change", async () => {
    const server = await aServer();
    const gate = stack.use(await openTcpGate(server.port));
    const slow = await openHub(`nats://127.0.0.1:${gate.port}`);
    const quick = await openHub(server.url);
    gate.hold();
    const name = "x".repeat(60_000);
    const letters = "ABCDEFGHJKLMNPQRSTUV".split("");
    const codes = letters.map((one) => letters.slice(0, 15).map((two) => `${one}${two}23CD`));
    const put = (code: string) => quick.directory.putRoom(aStoredRoom(code, name), 0);
    // All at once would take a busy NATS longer than a call may.
    for (const some of codes) await Promise.all(some.map(put));
    gate.open();
    const { replica } = slow;
    await replica.until("all of them", () => replica.rooms.size === codes.flat().length);
    for (const seen of replica.revisions.values()) expect(seen).toHaveLength(1);
  });

  test("removes what marks a deletion after an hour, and nothing that was made since", async () => {
    const server = await aServer();
    const hourMs = 3_600_000;
    const late: { ms: number; task: () => void }[] = [];
    const world: World = {
      ...systemWorld,
      setTimeout: (task, ms) =>
        ms <= 60_000 ? systemWorld.setTimeout(task, ms) : { last: late.push({ ms, task }) },
      unref: (timer) => timer,
    };
    const { directory, replica } = await openHub(server.url, { world });
    for (const code of ["AB23CD", "CD23EF"]) {
      const revision = (await directory.putRoom(aStoredRoom(code), 0)) ?? 0;
      await directory.deleteRoom(code, revision);
    }
    const again = await directory.putRoom(aStoredRoom("CD23EF"), 0);
    await replica.until("the last", () => replica.revisions.get("CD23EF")?.at(-1) === again);
    const { connection, manager } = await connectToNats(
      { servers: [server.url] },
      { name: "test", inboxPrefix: "_INBOX", random: Math.random },
    );
    stack.defer(() => connection.close());
    const count = async () => (await manager.streams.info("KV_roomhub_rooms")).state.messages;
    expect(await count()).toBe(2);
    // Each hub spreads what it removes over an hour.
    expect(late.filter(({ ms }) => ms < hourMs || ms > 2 * hourMs)).toEqual([]);
    for (const { task } of late) task();
    await until("the removal", count, (messages) => messages === 1);
    await expect(directory.readRoom("CD23EF")).resolves.toMatchObject({ revision: again });
    await expect(directory.putRoom(aStoredRoom("AB23CD"), 0)).resolves.toBeGreaterThan(0);
  });

  test("has the server drop a registration 24 h after it was written, and watches none", async () => {
    const server = await aServer();
    const { directory } = await openHub(server.url);
    await directory.putRegistration(aRegistration("AB23CD", "ada"));
    const { connection, manager } = await connectToNats(
      { servers: [server.url] },
      { name: "test", inboxPrefix: "_INBOX", random: Math.random },
    );
    stack.defer(() => connection.close());
    const infoOf = (kind: string) => manager.streams.info(`KV_roomhub_${kind}`);
    const { config, state } = await infoOf("registrations");
    expect(config.max_age / 1_000_000).toBe(24 * 3_600_000);
    expect([state.messages, state.consumer_count]).toEqual([1, 0]);
    const homes = await infoOf("homes");
    expect([homes.config.max_age, homes.state.consumer_count]).toEqual([0, 1]);
  });

  test("warns where NATS is not known to keep what it confirmed", async () => {
    const server = await aServer();
    const { directory } = await openHub(server.url);
    expect(directory.warning).toMatch(/one copy of each room.*sync_interval: always/);
    const memory = await openHub(server.url, { prefix: "memory", storage: "memory" });
    expect(memory.directory.warning).toContain("keeps the rooms in memory");
    expect(storageWarning({ storage: "file", copies: 3 })).toBe(undefined);
  });

  test("keeps the clusters of one server apart by their prefix", async () => {
    const server = await aServer();
    const [one, other] = [
      await openHub(server.url, { prefix: `one_${randomUUID().slice(0, 8)}` }),
      await openHub(server.url, { prefix: `other_${randomUUID().slice(0, 8)}` }),
    ];
    await one.directory.putRoom(aStoredRoom("AB23CD"), 0);
    await other.directory.putRoom(aStoredRoom("CD23EF"), 0);
    await other.replica.until("its own room", () => other.replica.rooms.size === 1);
    expect([...other.replica.rooms.keys()]).toEqual(["CD23EF"]);
  });
});
