import { scryptSync } from "node:crypto";
import { expect, test } from "vitest";
import { parseStoredDigest } from "./stored-digest.ts";

const salt = "a".repeat(22);
const hash = "b".repeat(43);
const digest = (N: number, r: number, p: number) => `scrypt$${N}$${r}$${p}$${salt}$${hash}`;

test("a digest is parsed into scrypt's parameters, salt and hash", () => {
  expect(parseStoredDigest(digest(32_768, 8, 1))).toEqual({ N: 32_768, r: 8, p: 1, salt, hash });
});

test.each([
  [131_072, 16, 4],
  [32_768, 1, 1],
  [65_536, 2, 1],
  [2, 1, 1],
])("the highest and lowest parameters are accepted: N %i, r %i, p %i", (N, r, p) => {
  expect(parseStoredDigest(digest(N, r, p))).toMatchObject({ N, r, p });
});

test.each([
  ["no digest", ""],
  ["a password in the clear", "swordfish"],
  ["another scheme", "bcrypt$10$abc"],
  ["no hash", `scrypt$32768$8$1$${salt}`],
  ["a line's end behind it", `${digest(32_768, 8, 1)}\n`],
  ["an N that is no power of two", digest(30_000, 8, 1)],
  ["an N of one", digest(1, 8, 1)],
  ["an N of twice the highest", digest(262_144, 8, 1)],
  ["an N that is too high for its r", digest(65_536, 1, 1)],
  ["an r of zero", digest(32_768, 0, 1)],
  ["an r above the highest", digest(32_768, 17, 1)],
  ["a p of zero", digest(32_768, 8, 0)],
  ["a p above the highest", digest(32_768, 8, 5)],
])("an unusable digest is refused: %s", (_title, text) => {
  expect(parseStoredDigest(text)).toBeUndefined();
});

test("scrypt refuses an N that is too high for its r", () => {
  expect(() => scryptSync("x", "y", 32, { N: 65_536, r: 1, p: 1, maxmem: 2 ** 30 })).toThrow();
  expect(() => scryptSync("x", "y", 32, { N: 32_768, r: 1, p: 1, maxmem: 2 ** 30 })).not.toThrow();
});
