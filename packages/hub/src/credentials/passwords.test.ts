import { systemWorld } from "@roomhub/protocol";
import { scryptSync } from "node:crypto";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { createPasswordKeeper } from "./passwords.ts";

const keeper = createPasswordKeeper(systemWorld);
const swordfish = await keeper.fromPassword("swordfish");

test("the password of a new room is checked without scrypt", () => {
  expect(swordfish.quickly("swordfish")).toBe(true);
  expect(swordfish.quickly("swordfisH")).toBe(false);
  expect(swordfish.quickly("")).toBe(false);
});

test("on disk stands scrypt with a salt of 16 bytes, the same text at every look", () => {
  const { stored } = swordfish;
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
  expect(swordfish.stored).toBe(stored);
});

test("two rooms with the same password have different digests on disk", async () => {
  const other = await keeper.fromPassword("swordfish");
  expect(other.stored).not.toBe(swordfish.stored);
});

test("the password of a room from disk is checked by scrypt until the right one came once", async () => {
  const room = createPasswordKeeper(systemWorld).fromStored(swordfish.stored);
  expect(room.stored).toBe(swordfish.stored);
  expect(room.quickly("swordfish")).toBeUndefined();
  await expect(room.slowly("tuna")).resolves.toBe(false);
  expect(room.quickly("swordfish")).toBeUndefined();
  await expect(room.slowly("swordfish")).resolves.toBe(true);
  expect([room.quickly("swordfish"), room.quickly("tuna")]).toEqual([true, false]);
});

test.each([
  [1_024, 4, 2],
  [2, 1, 1],
  [4, 16, 4],
])("a digest of other parameters is checked by those: N %i, r %i, p %i", async (N, r, p) => {
  const salt = Buffer.alloc(16, 3);
  const hash = scryptSync("swordfish", salt, 32, { N, r, p });
  const stored = `scrypt$${N}$${r}$${p}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
  await expect(keeper.fromStored(stored).slowly("swordfish")).resolves.toBe(true);
  await expect(keeper.fromStored(stored).slowly("tuna")).resolves.toBe(false);
});

test.each([
  ["nothing", ""],
  ["another scheme", "bcrypt$10$abc"],
  ["a missing part", "scrypt$32768$8$1$AAAAAAAAAAAAAAAAAAAAAA"],
  ["an N that is no power of two", `scrypt$32767$8$1$${"A".repeat(22)}$${"A".repeat(43)}`],
  ["an N that costs gigabytes", `scrypt$4194304$8$1$${"A".repeat(22)}$${"A".repeat(43)}`],
  ["p of zero", `scrypt$32768$8$0$${"A".repeat(22)}$${"A".repeat(43)}`],
])("a stored digest of %s is refused without being repeated", (_title, stored) => {
  expect(() => keeper.fromStored(stored)).toThrow(TypeError);
  expect(() => keeper.fromStored(stored)).not.toThrow(/AAAA|bcrypt/);
});

test("printing a room's password or a keeper shows nothing of it", async () => {
  const room = await keeper.fromPassword("CANARY-7f3a");
  const printed =
    inspect({ room, keeper }, { depth: null, showHidden: true }) + JSON.stringify({ room });
  expect(printed).not.toContain("CANARY");
  expect(printed).not.toContain("scrypt$");
});

test("the random bytes are the caller's to choose", async () => {
  const fixed = createPasswordKeeper({
    ...systemWorld,
    randomBytes: (count) => new Uint8Array(count),
  });
  const room = await fixed.fromPassword("swordfish");
  expect(room.stored).toContain(`$${"A".repeat(22)}$`);
});
