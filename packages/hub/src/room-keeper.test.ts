import { describe, expect, test } from "vitest";
import { createPasswordKeeper, type PasswordVerifier } from "./credentials/passwords.ts";
import { Registry } from "./domain/registry.ts";
import { aParticipant, aRoom } from "./domain/room.fixture.ts";
import { createLog } from "./log.ts";
import { RoomKeeper } from "./room-keeper.ts";
import type { RoomStore, StoredRoom } from "./storage/room-store.ts";

/** A store that remembers each save, and fails when told to. */
class NotedStore implements RoomStore {
  readonly saves: (readonly StoredRoom[])[] = [];
  readonly #first: StoredRoom[];
  isFailing = false;
  isClosed = false;

  constructor(first: StoredRoom[] = []) {
    this.#first = first;
  }

  async load(): Promise<StoredRoom[]> {
    return this.#first;
  }

  async save(rooms: readonly StoredRoom[]): Promise<void> {
    if (this.isFailing) throw new Error("disk full");
    this.saves.push(rooms);
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

const verifier: PasswordVerifier = {
  verify: async (password) => password === "swordfish",
  toStored: async () => "scrypt$digest",
};

function keeping(store: NotedStore) {
  const registry = new Registry();
  const passwords = new Map<string, PasswordVerifier>();
  const lines: string[] = [];
  const log = createLog("text", (line) => lines.push(line));
  const keeper = new RoomKeeper(store, registry, passwords, createPasswordKeeper(), log);
  return { keeper, registry, passwords, lines };
}

const stored: StoredRoom = {
  id: "id-1",
  code: "ABC234",
  name: "lab",
  hostId: "host-1",
  createdAt: 1,
  lastUsedAt: 2,
};

describe("loading", () => {
  test("brings every room back in order, without participants", async () => {
    const { keeper, registry, passwords } = keeping(
      new NotedStore([stored, { ...stored, code: "XYZ987" }]),
    );
    await keeper.load();
    expect([...registry.rooms()].map((room) => room.code)).toEqual(["ABC234", "XYZ987"]);
    expect(registry.room("ABC234")).toEqual({
      ...stored,
      isPasswordProtected: false,
      participants: new Map(),
    });
    expect(passwords.size).toBe(0);
  });

  test("brings a password back as one that only checks", async () => {
    const digest = `scrypt$32768$8$1$${"a".repeat(22)}$${"b".repeat(43)}`;
    const { keeper, registry, passwords } = keeping(
      new NotedStore([{ ...stored, passwordDigest: digest }]),
    );
    await keeper.load();
    expect(registry.room("ABC234").isPasswordProtected).toBe(true);
    expect(registry.room("ABC234")).not.toHaveProperty("passwordDigest");
    await expect(passwords.get("ABC234")?.toStored()).resolves.toBe(digest);
  });
});

describe("a store with a digest that nobody can check", () => {
  const digest = `scrypt$262144$8$1$${"a".repeat(22)}$${"b".repeat(43)}`;
  const spoilt = [stored, { ...stored, code: "XYZ987", passwordDigest: digest }];

  test("brings no room back, not even those before it", async () => {
    const { keeper, registry, passwords } = keeping(new NotedStore(spoilt));
    await expect(keeper.load()).rejects.toThrow(TypeError);
    expect([registry.roomCount, passwords.size]).toEqual([0, 0]);
  });

  test("is closed as it is, nothing is saved over it", async () => {
    const store = new NotedStore(spoilt);
    const { keeper } = keeping(store);
    await expect(keeper.load()).rejects.toThrow(TypeError);
    await keeper.close();
    expect([store.saves, store.isClosed]).toEqual([[], true]);
  });
});

describe("saving", () => {
  test("writes exactly what survives a restart, never a participant", async () => {
    const store = new NotedStore();
    const { keeper, registry, passwords } = keeping(store);
    await keeper.load();
    registry.addRoom({ ...aRoom(aParticipant({ id: "ada" })), isPasswordProtected: true });
    passwords.set("ABC234", verifier);
    keeper.save();
    await keeper.close();
    const { id, code, name, hostId, createdAt, lastUsedAt } = aRoom();
    expect(store.saves[0]).toEqual([
      { id, code, name, hostId, createdAt, lastUsedAt, passwordDigest: "scrypt$digest" },
    ]);
  });

  test("many changes at once are one write, of the last state", async () => {
    const store = new NotedStore();
    const { keeper, registry } = keeping(store);
    await keeper.load();
    for (let count = 0; count < 50; count++) {
      registry.addRoom({ ...aRoom(), code: `ROOM${count}` });
      keeper.save();
    }
    await keeper.close();
    expect(store.saves).toHaveLength(1);
    expect(store.saves[0]).toHaveLength(50);
    expect(store.isClosed).toBe(true);
  });

  test("that fails is told to the operator, and the next one is tried all the same", async () => {
    const store = new NotedStore();
    const { keeper, lines } = keeping(store);
    await keeper.load();
    store.isFailing = true;
    keeper.save();
    await Promise.resolve();
    await keeper.close();
    expect(lines[0]).toMatch(/^\[service\] bug rooms could not be saved .*disk full/);
    expect(store.isClosed).toBe(true);
  });
});
