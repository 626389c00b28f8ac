import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRecording } from "./recording.ts";
import { lockRecording } from "./recording-lock.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "roomhub-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = () => join(folder, "lab.ndjson");
const leaveLock = (text: string, suffix = ".lock") => writeFileSync(path() + suffix, text);

/** The pid of a process that has ended. */
async function endedPid(): Promise<number> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(child, "exit");
  return child.pid ?? 0;
}

test("a second recorder of one file is refused with the pid of the first, until that one closes it", () => {
  const options = { path: path(), maxBytes: 1_000 };
  const first = openRecording(options);
  expect(() => openRecording(options)).toThrow(
    `${path()} is being written by process ${process.pid}. If that is no roomhub record, delete ${path()}.lock`,
  );
  first.close();
  openRecording(options).close();
  expect(readdirSync(folder)).toEqual(["lab.ndjson"]);
});

test("a file that is no recording is left without a lock", () => {
  writeFileSync(path(), "something else\n");
  expect(() => openRecording({ path: path(), maxBytes: 1_000 })).toThrow("something else");
  expect(readdirSync(folder)).toEqual(["lab.ndjson"]);
});

test("a lock of a dead process is replaced, also of one with this pid and one that was cut short", async () => {
  const dead = { pid: await endedPid(), startedAtMs: 1 };
  for (const text of [dead, { pid: process.pid, startedAtMs: 1 }].map((one) =>
    JSON.stringify(one),
  )) {
    leaveLock(text);
    lockRecording(path())();
    leaveLock(text.slice(0, 5));
    lockRecording(path())();
    expect(readdirSync(folder)).toEqual([]);
  }
});

test("while one process replaces a lock, another one is refused", async () => {
  leaveLock(JSON.stringify({ pid: await endedPid(), startedAtMs: 1 }));
  leaveLock(JSON.stringify({ pid: process.ppid, startedAtMs: 1 }), ".lock.next");
  expect(() => lockRecording(path())).toThrow(
    `by process ${process.ppid}. If that is no roomhub record, delete ${path()}.lock.next`,
  );
});

test("a lock that became another process's is not released", () => {
  const release = lockRecording(path());
  leaveLock("{}");
  release();
  expect(readdirSync(folder)).toEqual(["lab.ndjson.lock"]);
});
