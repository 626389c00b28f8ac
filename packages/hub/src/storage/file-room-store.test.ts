import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import {
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fileRoomStore, defaultStatePath } from "./file-room-store.ts";
import type { StoredRoom } from "./room-store.ts";
import { StateFileLockedError } from "./file-lock.ts";

const lab: StoredRoom = {
  id: randomUUID(),
  hostId: randomUUID(),
  code: "AB23CD",
  name: "lab",
  createdAt: 1,
  lastUsedAt: 2,
};

let root = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "roomhub-file-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function newStore(path = join(root, randomUUID(), "rooms.json")) {
  const warnings: string[] = [];
  const store = fileRoomStore(path, { onWarning: (message) => warnings.push(message) });
  return { path, store, warnings };
}

const filesBeside = async (path: string) => (await readdir(dirname(path))).sort();
const holder = (pid: number, startedAtMs = Date.now()) => JSON.stringify({ pid, startedAtMs });

async function storeWithLock(lock: string) {
  const opened = newStore();
  await mkdir(dirname(opened.path));
  await writeFile(`${opened.path}.lock`, lock);
  return opened;
}

test("the file and its directory are their owner's alone, and nothing else is left behind", async () => {
  const { path, store } = newStore();
  await store.load();
  await store.save([lab]);
  await store.close();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
  expect(await filesBeside(path)).toEqual(["rooms.json"]);
});

test("a file in use by a live process is an error that names file, process and ways out", async () => {
  const { path, store, warnings } = await storeWithLock(holder(process.ppid));
  const error = await store.load().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StateFileLockedError);
  expect(error).toMatchObject({ path, pid: process.ppid });
  for (const part of [path, String(process.ppid), "--state-file", "--ephemeral", `${path}.lock`]) {
    expect((error as Error).message).toContain(part);
  }
  await store.save([lab]);
  await store.close();
  expect(await filesBeside(path)).toEqual(["rooms.json.lock"]);
  expect(warnings).toEqual([]);
});

test("two stores in one process do not share a file either", async () => {
  const { path, store } = newStore();
  await store.load();
  await expect(newStore(path).store.load()).rejects.toThrow(StateFileLockedError);
  await store.close();
  const second = newStore(path).store;
  await expect(second.load()).resolves.toEqual([]);
  await second.close();
});

test.each([
  ["a dead process", () => holder(spawnSync(process.execPath, ["-e", ""]).pid)],
  ["a process that had our pid in an earlier life", () => holder(process.pid, 1)],
  ["a process from before the last boot", () => holder(process.ppid, 1)],
  ["a process that died while writing it", () => ""],
  ["a program that wrote nonsense", () => '{"pid":-1}'],
])("a lock left behind by %s is taken over", async (_title, lock) => {
  const { path, store, warnings } = await storeWithLock(lock());
  await expect(store.load()).resolves.toEqual([]);
  await store.save([lab]);
  await store.close();
  expect(await filesBeside(path)).toEqual(["rooms.json"]);
  expect(warnings).toEqual([]);
});

test("a lock that now belongs to another hub is left alone on close", async () => {
  const { path, store } = newStore();
  await store.load();
  await writeFile(`${path}.lock`, holder(process.ppid));
  await store.close();
  expect(await filesBeside(path)).toEqual(["rooms.json.lock"]);
});

test("a broken file is renamed aside with one warning, kept as it was, and the hub starts empty", async () => {
  const path = join(root, randomUUID(), "rooms.json");
  await mkdir(dirname(path));
  await writeFile(path, "{ half a fi");
  const warnings: string[] = [];
  const store = fileRoomStore(path, {
    onWarning: (message) => warnings.push(message),
    wallMs: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6),
  });
  await expect(store.load()).resolves.toEqual([]);
  await store.save([lab]);
  await store.close();
  const asideName = "rooms.json.broken-2026-01-02T03-04-05-006Z";
  expect(await filesBeside(path)).toEqual(["rooms.json", asideName]);
  expect(await readFile(join(dirname(path), asideName), "utf8")).toBe("{ half a fi");
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(asideName);
  await expect(newStore(path).store.load()).resolves.toEqual([lab]);
});

test("a directory or a link in the file's place is neither renamed nor written over", async () => {
  const directoryPath = join(root, randomUUID(), "rooms.json");
  await mkdir(directoryPath, { recursive: true });
  const linkPath = join(root, randomUUID(), "rooms.json");
  await mkdir(dirname(linkPath));
  await symlink(directoryPath, linkPath);
  for (const path of [directoryPath, linkPath]) {
    const { store, warnings } = newStore(path);
    await expect(store.load()).resolves.toEqual([]);
    await store.save([lab]);
    await store.close();
    expect(await filesBeside(path)).toEqual([basename(path)]);
    expect((await stat(path)).isDirectory()).toBe(true);
    expect(warnings).toHaveLength(1);
  }
});

test("a file that cannot be read stays where it is, and is not written over", async () => {
  const path = join(root, randomUUID(), "rooms.json");
  await mkdir(dirname(path));
  await writeFile(path, "");
  // More than Node reads at once, and no bytes on the disk. A mode would keep no root from reading it.
  await truncate(path, 3 * 2 ** 30);
  const { store, warnings } = newStore(path);
  await expect(store.load()).resolves.toEqual([]);
  expect(store.isKeeping).toBe(false);
  await store.save([lab]);
  await store.close();
  expect(await filesBeside(path)).toEqual(["rooms.json"]);
  expect((await stat(path)).size).toBe(3 * 2 ** 30);
  expect(warnings).toEqual([
    expect.stringMatching(/^Rooms are not kept .*rooms.json.*greater than 2 GiB/),
  ]);
});

test("where no directory can be made, the hub runs without a file after one warning", async () => {
  const blocker = join(root, randomUUID());
  await writeFile(blocker, "a file, not a directory");
  const { store, warnings } = newStore(join(blocker, "rooms.json"));
  await expect(store.load()).resolves.toEqual([]);
  await store.save([lab]);
  await store.close();
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^Rooms are not kept over a restart/);
});

test("a file that cannot be locked is read after one warning, and neither written nor moved", async () => {
  const { path, store } = newStore();
  await store.load();
  await store.save([lab]);
  await store.close();
  // No user can write a file where a directory stands, not even root.
  await mkdir(`${path}.lock`);
  const unlocked = newStore(path);
  await expect(unlocked.store.load()).resolves.toEqual([lab]);
  await unlocked.store.save([]);
  await unlocked.store.close();
  expect(unlocked.warnings).toHaveLength(1);
  expect(unlocked.warnings[0]).toContain("changes are not kept");
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ rooms: [{ name: "lab" }] });

  await writeFile(path, "{ half a fi");
  const broken = newStore(path);
  await expect(broken.store.load()).resolves.toEqual([]);
  await broken.store.close();
  expect(broken.warnings).toHaveLength(1);
  expect(broken.warnings[0]).toContain("it is not JSON");
  expect(await filesBeside(path)).toEqual(["rooms.json", "rooms.json.lock"]);
});

test("a store says whether it keeps what is saved: while it has the lock", async () => {
  const { path, store } = newStore();
  expect(store.isKeeping).toBe(false);
  await store.load();
  expect(store.isKeeping).toBe(true);
  await store.close();
  expect(store.isKeeping).toBe(false);
  await mkdir(`${path}.lock`);
  const unlocked = newStore(path).store;
  await unlocked.load();
  expect(unlocked.isKeeping).toBe(false);
});

test.each([
  ["a symbolic link", symlink],
  ["a hard link", link],
])(
  "%s in the temporary file's place is removed, and what it leads to is not written to",
  async (_kind, plant) => {
    const { path, store } = newStore();
    await store.load();
    const victim = join(root, randomUUID());
    await writeFile(victim, "precious");
    await plant(victim, `${path}.tmp`);
    await store.save([lab]);
    await store.close();
    expect(await readFile(victim, "utf8")).toBe("precious");
    expect((await lstat(path)).isFile()).toBe(true);
    expect(await readFile(path, "utf8")).toContain(lab.code);
    expect(await filesBeside(path)).toEqual(["rooms.json"]);
  },
);

test.each([
  ["to a file", true],
  ["to nothing", false],
])(
  "a lock that is a symbolic link %s is not followed: rooms are read, not kept",
  async (_where, exists) => {
    const { path, store } = newStore();
    await store.load();
    await store.save([lab]);
    await store.close();
    const victim = join(root, randomUUID());
    if (exists) await writeFile(victim, holder(process.pid, 1));
    await symlink(victim, `${path}.lock`);
    const linked = newStore(path);
    await expect(linked.store.load()).resolves.toEqual([lab]);
    await linked.store.close();
    expect(linked.warnings).toEqual([expect.stringContaining("changes are not kept")]);
    expect(existsSync(victim)).toBe(exists);
    expect((await lstat(`${path}.lock`)).isSymbolicLink()).toBe(true);
  },
);

test("what a killed hub left half written is replaced", async () => {
  const { path, store } = newStore();
  await store.load();
  await writeFile(`${path}.tmp`, "half a fi");
  await store.save([lab]);
  await store.close();
  expect(await readFile(path, "utf8")).toContain(lab.code);
  expect(await filesBeside(path)).toEqual(["rooms.json"]);
});

test("failing writes are one warning until one succeeds again", async () => {
  const { path, store, warnings } = newStore();
  await store.load();
  await mkdir(`${path}.tmp`);
  await store.save([lab]);
  await store.save([lab]);
  expect(warnings).toHaveLength(1);
  await rm(`${path}.tmp`, { recursive: true });
  await store.save([lab]);
  await mkdir(`${path}.tmp`);
  await store.save([]);
  expect(warnings).toHaveLength(2);
  await store.close();
  expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ rooms: [{ name: "lab" }] });
});

test.each([
  ["below XDG_STATE_HOME", { XDG_STATE_HOME: "/state", HOME: "/home/ada" }, "/state"],
  ["below ~/.local/state", { HOME: "/home/ada" }, "/home/ada/.local/state"],
  [
    "below ~/.local/state when XDG_STATE_HOME is relative",
    { XDG_STATE_HOME: "state", HOME: "/home/ada" },
    "/home/ada/.local/state",
  ],
  [
    "below ~/.local/state when XDG_STATE_HOME is empty",
    { XDG_STATE_HOME: "", HOME: "/home/ada" },
    "/home/ada/.local/state",
  ],
])("the file is by default %s, one per port", (_title, env, base) => {
  expect(defaultStatePath(5050, env)).toBe(join(base, "roomhub", "rooms-5050.json"));
});
