import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { machineSecret } from "./machine-secret.ts";

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
