import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { machineSecret, tokensIn } from "./saved-secrets.ts";

async function newFolder(): Promise<string> {
  const base = await mkdtemp(join(tmpdir(), "roomhub-tokens-"));
  onTestFinished(() => rm(base, { recursive: true }));
  return join(base, "participants");
}

const saved = { hubUrl: "http://hub:5050", room: "ABC234", id: "ana-llama3", token: "rhp_1" };

test("a saved token is found by its participant's id, until it is forgotten", async () => {
  const tokens = tokensIn(await newFolder());
  expect(await tokens.find("ana-llama3")).toEqual([]);
  await tokens.save(saved);
  await tokens.save({ ...saved, id: "ben", token: "rhp_2" });
  expect(await tokens.find("ana-llama3")).toEqual([saved]);
  await tokens.forget(saved);
  expect(await tokens.find("ana-llama3")).toEqual([]);
  expect(await tokens.find("ben")).toHaveLength(1);
});

test("a token replaces the one of the same participant, and no other room's", async () => {
  const tokens = tokensIn(await newFolder());
  await Promise.all([tokens.save(saved), tokens.save({ ...saved, room: "XYZ789" })]);
  await tokens.save({ ...saved, token: "rhp_3" });
  const found = await tokens.find("ana-llama3");
  expect(new Map(found.map(({ room, token }) => [room, token]))).toEqual(
    new Map([
      ["ABC234", "rhp_3"],
      ["XYZ789", "rhp_1"],
    ]),
  );
});

test("only this user can read tokens, and no draft stays behind", async () => {
  const folder = await newFolder();
  await tokensIn(folder).save(saved);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  const names = await readdir(folder);
  expect(names).toHaveLength(1);
  expect((await stat(join(folder, names[0]!))).mode & 0o777).toBe(0o600);
});

test.each(["", "null", "[]", '{"id":"ana-llama3"}'])(
  "a file with %j is passed over",
  async (text) => {
    const folder = await newFolder();
    const tokens = tokensIn(folder);
    await tokens.save(saved);
    await writeFile(join(folder, "other.json"), text);
    expect(await tokens.find("ana-llama3")).toEqual([saved]);
  },
);

async function newPath(): Promise<string> {
  const base = await mkdtemp(join(tmpdir(), "roomhub-machine-"));
  onTestFinished(() => rm(base, { recursive: true }));
  return join(base, "roomhub", "machine-secret");
}

const ollama = "http://127.0.0.1:11434/v1";
const llamaCpp = "http://127.0.0.1:8080/v1";

test("an endpoint has one secret of 43 characters, and another endpoint another", async () => {
  const path = await newPath();
  const secretOf = (endpoint: string) => machineSecret(path, endpoint);
  const secret = await secretOf(ollama);
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(await secretOf(ollama)).toBe(secret);
  expect(await secretOf(llamaCpp)).not.toBe(secret);
});

test("processes that begin at the same time have the same secret", async () => {
  const path = await newPath();
  const secrets = await Promise.all(Array.from({ length: 20 }, () => machineSecret(path, ollama)));
  expect(new Set(secrets).size).toBe(1);
  expect(await machineSecret(path, ollama)).toBe(secrets[0]);
});

test("another user's computer has another secret for the same endpoint", async () => {
  const secrets = await Promise.all(
    [await newPath(), await newPath()].map((path) => machineSecret(path, ollama)),
  );
  expect(secrets[0]).not.toBe(secrets[1]);
});

test("only this user can read the secret, and no draft stays behind", async () => {
  const path = await newPath();
  await machineSecret(path, ollama);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readdir(dirname(path))).toEqual(["machine-secret"]);
});

test.each(["", "short", "x".repeat(44)])(
  "a file with %j is an error that names it",
  async (text) => {
    const path = await newPath();
    await machineSecret(path, ollama);
    await writeFile(path, text);
    await expect(machineSecret(path, ollama)).rejects.toThrow(path);
  },
);
