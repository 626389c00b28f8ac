import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DoorOpenError, openDoorsIn } from "./open-doors.ts";

const room = { hubUrl: "https://10.0.0.7:5050", room: "ABC234" };

async function aFolder() {
  const path = await mkdtemp(join(tmpdir(), "roomhub-doors-"));
  const doors = openDoorsIn(join(path, "doors"));
  const files = async () =>
    (await readdir(join(path, "doors"))).map((name) => join(path, "doors", name));
  return { doors, files, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

test("a door that runs is found, in a file that only this user can read, until it is closed", async () => {
  await using folder = await aFolder();
  expect(await folder.doors.list()).toEqual([]);
  const claimed = await folder.doors.claim(room);
  await claimed.publish(5055);
  expect(await folder.doors.list()).toEqual([{ ...room, port: 5055 }]);
  for (const file of await folder.files()) expect((await stat(file)).mode & 0o077).toBe(0);
  await claimed.release();
  expect([await folder.doors.list(), await folder.files()]).toEqual([[], []]);
});

test("a second door to a room is refused with the first, however its hub's URL is written", async () => {
  await using folder = await aFolder();
  const claimed = await folder.doors.claim(room);
  await claimed.publish(5055);
  const again = folder.doors.claim({ ...room, hubUrl: "http://10.0.0.7:5050" });
  await expect(again).rejects.toThrow(DoorOpenError);
  await expect(again).rejects.toMatchObject({ pid: process.pid, door: { port: 5055 } });
  await (await folder.doors.claim({ ...room, room: "XYZ789" })).release();
  await (await folder.doors.claim({ ...room, hubUrl: "https://10.0.0.8:5050" })).release();
  await claimed.release();
});

test("the record of a process that was killed counts for nothing, and another door takes its place", async () => {
  await using folder = await aFolder();
  const claimed = await folder.doors.claim(room);
  await claimed.publish(5055);
  const lock = (await folder.files()).find((name) => name.endsWith(".lock")) ?? "";
  await writeFile(lock, JSON.stringify({ pid: 2 ** 30, startedAtMs: Date.now() }));
  expect(await folder.doors.list()).toEqual([]);
  const next = await folder.doors.claim(room);
  await next.publish(5056);
  expect(await folder.doors.list()).toEqual([{ ...room, port: 5056 }]);
  await next.release();
});
