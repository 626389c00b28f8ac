import { systemWorld } from "@roomhub/protocol";
import { describe, expect, test } from "vitest";
import { createPasswordKeeper, type RoomPassword } from "./credentials/passwords.ts";
import { noKeys } from "./domain/keys/key-table.ts";
import { noAliases } from "./domain/aliases/alias-table.ts";
import { Registry } from "./domain/registry.ts";
import { newPlacing } from "./domain/room.ts";
import { aParticipant, aRoom } from "./domain/room.fixture.ts";
import { createLog } from "./log.ts";
import { RoomKeeper } from "./room-keeper.ts";
import type { RoomStore, StoredRoom } from "./storage/room-store.ts";

/** A store that remembers each save, and fails on demand. */
class NotedStore implements RoomStore {
  readonly saves: (readonly StoredRoom[])[] = [];
  readonly #first: StoredRoom[];
  isFailing = false;
  /** a write takes until then */
  disk: Promise<void> = Promise.resolve();
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
    await this.disk;
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

const swordfish: RoomPassword = {
  stored: "scrypt$digest",
  quickly: (password) => password === "swordfish",
  slowly: async (password) => password === "swordfish",
};

function keeping(store: NotedStore) {
  const registry = new Registry();
  const passwords = new Map<string, RoomPassword>();
  const lines: string[] = [];
  const log = createLog("text", (line) => lines.push(String(line)));
  const passwordKeeper = createPasswordKeeper(systemWorld);
  const deps = { store, registry, roomPasswords: passwords, passwordKeeper, log };
  const keeper = new RoomKeeper(deps);
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
      hostTokenDigest: undefined,
      aliases: noAliases,
      isClosed: false,
      keys: noKeys,
      bans: [],
      blocked: new Set<string>(),
      isDeleted: false,
      participants: new Map(),
      placing: newPlacing(),
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
    expect(passwords.get("ABC234")?.stored).toBe(digest);
  });
});

describe("a store with a digest that cannot be checked", () => {
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
    passwords.set("ABC234", swordfish);
    void keeper.save();
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
      void keeper.save();
    }
    await keeper.close();
    expect(store.saves).toHaveLength(1);
    expect(store.saves[0]).toHaveLength(50);
    expect(store.isClosed).toBe(true);
  });

  test("resolves when what was there is in the store; what came meanwhile is one write more", async () => {
    const store = new NotedStore();
    const { keeper, registry } = keeping(store);
    await keeper.load();
    const writing = Promise.withResolvers<void>();
    store.disk = writing.promise;
    registry.addRoom({ ...aRoom(), code: "FIRST2" });
    const order: string[] = [];
    const first = keeper.save().then(() => order.push("first"));
    await Promise.resolve();
    registry.addRoom({ ...aRoom(), code: "LATER2" });
    const later = [keeper.save(), keeper.save()].map((save) =>
      save.then(() => order.push("later")),
    );
    expect([store.saves.length, order]).toEqual([1, []]);
    writing.resolve();
    await Promise.all([first, ...later]);
    expect(order).toEqual(["first", "later", "later"]);
    expect(store.saves.map((rooms) => rooms.map(({ code }) => code))).toEqual([
      ["FIRST2"],
      ["FIRST2", "LATER2"],
    ]);
  });

  test("writes rooms that are being created, but no protected one before its digest is made", async () => {
    const store = new NotedStore();
    const { keeper, registry, passwords } = keeping(store);
    await keeper.load();
    registry.reserve({ ...aRoom(), code: "SLQW22", isPasswordProtected: true });
    registry.reserve({ ...aRoom(), code: "PLAIN2" });
    await keeper.save();
    passwords.set("SLQW22", swordfish);
    await keeper.save();
    expect(store.saves.map((rooms) => rooms.map(({ code }) => code))).toEqual([
      ["PLAIN2"],
      ["SLQW22", "PLAIN2"],
    ]);
  });

  test("that fails is reported to the operator, and the next one is still tried", async () => {
    const store = new NotedStore();
    const { keeper, lines } = keeping(store);
    await keeper.load();
    store.isFailing = true;
    void keeper.save();
    await Promise.resolve();
    await keeper.close();
    expect(lines[0]).toMatch(/^\[service\] bug rooms could not be saved .*disk full/);
    expect(store.isClosed).toBe(true);
  });
});
