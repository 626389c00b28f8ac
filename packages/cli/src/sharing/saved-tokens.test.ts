import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tokensIn } from "./saved-tokens.ts";

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
