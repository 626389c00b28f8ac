import { randomUUID } from "node:crypto";
import type { StoredRoom } from "@roomhub/hub";
import { createMemoryCluster } from "../../../hub/src/cluster/memory-cluster.fixture.ts";
import { describe, expect, test } from "vitest";
import { makeWorld, type TestWorld } from "../test-context.fixture.ts";

const lab: StoredRoom = {
  ...{ id: randomUUID(), code: "LAB234", name: "lab", hostId: randomUUID() },
  ...{ createdAt: 1, lastUsedAt: 2 },
  hostTokenDigest: "h".repeat(43),
  aliases: [{ pattern: "gpt-*", targets: ["*"], createdAt: 3 }],
};
const office: StoredRoom = { ...lab, id: randomUUID(), code: "FFF234", name: "office" };

type MemoryCluster = ReturnType<typeof createMemoryCluster>;

function worldWith(cluster: MemoryCluster, rooms: readonly StoredRoom[]): TestWorld {
  const world = makeWorld({ readStateFile: async () => [...rooms] });
  world.context.openDirectory = async (options) => {
    world.directories.push(options);
    return cluster.directory();
  };
  return world;
}

async function storedIn(cluster: MemoryCluster): Promise<StoredRoom[]> {
  const rooms: StoredRoom[] = [];
  const directory = cluster.directory();
  await directory.open({
    roomChanged: (_code, room) => void (room !== undefined && rooms.push(room)),
    homeChanged() {},
    registrationsLost() {},
    hubSeen() {},
    stateChanged() {},
  });
  await directory.close();
  return rooms;
}

const importing = ["rooms", "import", "rooms-5050.json", "--nats", "nats://n1:4222"];

describe("rooms import", () => {
  test("puts the rooms of a state file into the cluster as they are", async () => {
    const cluster = createMemoryCluster();
    const world = worldWith(cluster, [lab, office]);
    expect(await world.run(...importing)).toBe(0);
    expect(await storedIn(cluster)).toEqual([lab, office]);
    expect(world.stdout.text).toMatch(/LAB234 +lab +new\nFFF234 +office +new\n/);
    expect(world.stderr.text).toBe("2 rooms: 2 imported, 0 already there, 0 refused\n");
    expect(world.stdout.text).not.toContain(lab.hostTokenDigest);
  });

  test("changes nothing when it runs again, also when a room was used since", async () => {
    const cluster = createMemoryCluster();
    expect(await worldWith(cluster, [lab, office]).run(...importing)).toBe(0);
    const before = await storedIn(cluster);
    const world = worldWith(cluster, [{ ...lab, lastUsedAt: 99 }, office]);
    expect(await world.run(...importing)).toBe(0);
    expect(world.stderr.text).toBe("2 rooms: 0 imported, 2 already there, 0 refused\n");
    expect(await storedIn(cluster)).toEqual(before);
  });

  test("replaces no room of the cluster, imports the others, and fails", async () => {
    const cluster = createMemoryCluster();
    const other = { ...lab, id: randomUUID(), name: "theirs" };
    await worldWith(cluster, [other]).run(...importing);
    const world = worldWith(cluster, [lab, office]);
    expect(await world.run(...importing)).toBe(1);
    expect(world.stdout.text).toContain("refused: another room of the cluster has this code");
    expect(world.stderr.text).toContain("1 room of rooms-5050.json was refused");
    expect(await storedIn(cluster)).toEqual([other, office]);
  });

  test("says what of a room differs when it changed in the cluster since", async () => {
    const cluster = createMemoryCluster();
    await worldWith(cluster, [lab]).run(...importing);
    const world = worldWith(cluster, [{ ...lab, aliases: undefined, passwordDigest: "scrypt$1" }]);
    expect(await world.run(...importing, "--json")).toBe(1);
    expect(JSON.parse(world.stdout.text)).toEqual({
      rooms: [
        {
          ...{ code: "LAB234", name: "lab", result: "refused" },
          reason: "the cluster's room has another password and another list of aliases",
        },
      ],
    });
  });

  test("says which rooms are in the cluster when NATS is lost on the way", async () => {
    const cluster = createMemoryCluster();
    const world = worldWith(cluster, [lab, office]);
    world.context.openDirectory = async () => {
      const directory = cluster.directory();
      const put = directory.putRoom.bind(directory);
      directory.putRoom = async (room, revision) => {
        const stored = await put(room, revision);
        directory.cutOff();
        return stored;
      };
      return directory;
    };
    expect(await world.run(...importing)).toBe(1);
    expect(world.stdout.text).toMatch(/LAB234 +lab +new\n$/);
    expect(world.stderr.text).toContain("The import ended at room FFF234, after 1 of 2");
    expect(await storedIn(cluster)).toEqual([lab]);
  });

  test("imports nothing from a file that cannot be used", async () => {
    const world = worldWith(createMemoryCluster(), []);
    world.context.readStateFile = () => Promise.reject(new Error("rooms.3.code is not valid"));
    expect(await world.run(...importing)).toBe(1);
    expect(world.stderr.text).toContain("No room was imported: rooms-5050.json cannot be used");
    expect(world.directories).toEqual([]);
  });

  test("leaves a file alone that a hub has", async () => {
    const world = worldWith(createMemoryCluster(), []);
    const locked = Object.assign(new Error(""), { name: "StateFileLockedError", pid: 4711 });
    world.context.readStateFile = () => Promise.reject(locked);
    expect(await world.run(...importing)).toBe(1);
    expect(world.stderr.text).toContain("rooms-5050.json is in use by process 4711");
    expect(world.stderr.text).toContain("stop that hub first");
  });

  test("needs --nats", async () => {
    const world = worldWith(createMemoryCluster(), [lab]);
    expect(await world.run("rooms", "import", "rooms.json")).toBe(2);
    expect(world.stderr.text).toContain("room import needs --nats URL");
  });

  test("takes the cluster's credentials and certificates as serve does", async () => {
    const world = worldWith(createMemoryCluster(), [lab]);
    world.context.readFile = async (path) => {
      if (path === "/hub.creds") return "creds";
      throw Object.assign(new Error(`no ${path}`), { code: "ENOENT" });
    };
    world.context.env = { ROOMHUB_NATS: "tls://n1", ROOMHUB_NATS_CREDS: "/hub.creds" };
    expect(await world.run("rooms", "import", "rooms.json", "--nats-ca", "/ca.pem")).toBe(0);
    expect(world.directories[0]).toMatchObject({
      ...{ servers: ["tls://n1"], credentials: "creds", storage: "file" },
      tls: { caFile: "/ca.pem" },
    });
  });
});
