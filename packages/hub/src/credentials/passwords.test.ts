import { scryptSync } from "node:crypto";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { attemptKey, createPasswordAttempts } from "./attempts.ts";
import { tryPassword } from "./password-check.ts";
import { createPasswordKeeper } from "./passwords.ts";

const keeper = createPasswordKeeper();
const swordfish = keeper.fromPassword("swordfish");

test("a fresh room's password is right, any other and a missing one are wrong", async () => {
  await expect(swordfish.verify("swordfish")).resolves.toBe(true);
  await expect(swordfish.verify("swordfisH")).resolves.toBe(false);
  await expect(swordfish.verify("")).resolves.toBe(false);
  await expect(swordfish.verify(undefined)).resolves.toBe(false);
});

test("a missing password is wrong even where the password is empty", async () => {
  await expect(keeper.fromPassword("").verify(undefined)).resolves.toBe(false);
});

test("on disk stands scrypt with a salt of 16 bytes, the same text at every call", async () => {
  const stored = await swordfish.toStored();
  expect(stored).toMatch(/^scrypt\$32768\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
  await expect(swordfish.toStored()).resolves.toBe(stored);
});

test("two rooms with the same password have different digests on disk", async () => {
  const other = await keeper.fromPassword("swordfish").toStored();
  expect(other).not.toBe(await swordfish.toStored());
});

test("after a restart, with another key in memory, the same passwords are right and wrong", async () => {
  const verifier = createPasswordKeeper().fromStored(await swordfish.toStored());
  await expect(verifier.verify("tuna")).resolves.toBe(false);
  await expect(verifier.verify(undefined)).resolves.toBe(false);
  await expect(verifier.verify("swordfish")).resolves.toBe(true);
  await expect(verifier.verify("swordfish")).resolves.toBe(true);
  await expect(verifier.verify("tuna")).resolves.toBe(false);
  await expect(verifier.toStored()).resolves.toBe(await swordfish.toStored());
});

test("of a thousand who return at once, one pays for scrypt", async () => {
  const verifier = createPasswordKeeper().fromStored(await swordfish.toStored());
  let slowChecks = 0;
  const countRun = () => {
    slowChecks++;
    return true;
  };
  const results = await Promise.all(
    Array.from({ length: 1_000 }, () => verifier.verify("swordfish", countRun)),
  );
  expect(results.every(Boolean)).toBe(true);
  expect(slowChecks).toBe(1);
});

test("a slow check that may not run any more is wrong, and costs the next one nothing", async () => {
  const verifier = createPasswordKeeper().fromStored(await swordfish.toStored());
  await expect(verifier.verify("swordfish", () => false)).resolves.toBe(false);
  await expect(verifier.verify("swordfish")).resolves.toBe(true);
});

test.each([
  [1_024, 4, 2],
  [2, 1, 1],
  [4, 16, 4],
])("a digest of other parameters is checked by those: N %i, r %i, p %i", async (N, r, p) => {
  const salt = Buffer.alloc(16, 3);
  const hash = scryptSync("swordfish", salt, 32, { N, r, p });
  const stored = `scrypt$${N}$${r}$${p}$${salt.toString("base64url")}$${hash.toString("base64url")}`;
  await expect(keeper.fromStored(stored).verify("swordfish")).resolves.toBe(true);
  await expect(keeper.fromStored(stored).verify("tuna")).resolves.toBe(false);
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

test("printing a verifier or a keeper shows nothing of the password", async () => {
  const verifier = keeper.fromPassword("CANARY-7f3a");
  await verifier.toStored();
  const printed =
    inspect({ verifier, keeper }, { depth: null, showHidden: true }) + JSON.stringify({ verifier });
  expect(printed).not.toContain("CANARY");
  expect(printed).not.toContain("scrypt$");
});

test("the random bytes are the caller's to choose", async () => {
  const fixed = createPasswordKeeper({ randomBytes: (size) => new Uint8Array(size) });
  const stored = await fixed.fromPassword("swordfish").toStored();
  expect(stored).toContain(`$${"A".repeat(22)}$`);
});

function passwordTry(password: string | undefined, stored?: string) {
  const attempts = createPasswordAttempts({ burst: 5, intervalMs: 2_000 });
  const verifier = stored === undefined ? swordfish : createPasswordKeeper().fromStored(stored);
  return { verifier, attempts, key: attemptKey("ABCDEF", "::1"), password, nowMs: () => 1_000 };
}

test("wrong passwords are counted and then throttled, right ones are not counted", async () => {
  const request = passwordTry("tuna");
  for (let index = 0; index < 20; index++) {
    await expect(tryPassword({ ...request, password: "swordfish" })).resolves.toEqual({
      kind: "right",
    });
  }
  for (let index = 0; index < 5; index++) {
    await expect(tryPassword(request)).resolves.toEqual({ kind: "wrong" });
  }
  const throttled = { kind: "throttled", retryAfterMs: 2_000 };
  await expect(tryPassword(request)).resolves.toEqual(throttled);
  await expect(tryPassword({ ...request, password: "swordfish" })).resolves.toEqual(throttled);
});

test("missing and wrong are one result", async () => {
  await expect(tryPassword(passwordTry(undefined))).resolves.toEqual({ kind: "wrong" });
  await expect(tryPassword(passwordTry("tuna"))).resolves.toEqual({ kind: "wrong" });
});

test("guesses sent all at once against a room from disk are throttled like guesses in a row", async () => {
  const request = passwordTry("tuna", await swordfish.toStored());
  const guesses = [...Array<string>(30).fill("tuna"), "swordfish"];
  const results = await Promise.all(
    guesses.map((password) => tryPassword({ ...request, password })),
  );
  expect(results.filter(({ kind }) => kind === "wrong")).toHaveLength(5);
  expect(results.at(-1)).toEqual({ kind: "throttled", retryAfterMs: 2_000 });
});
