import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Machine, lockStateFile, StateFileLockedError } from "./file-lock.ts";

let directory = "";
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "roomhub-lock-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const startedAtMs = 1_700_000_000_000;
const dayMs = 24 * 3_600_000;

/** A machine that booted an hour before the lock's holder started, and is one day old. */
function machine(bootId: string | undefined, clockStepMs = 0): Machine {
  const uptimeMs = () => dayMs;
  return { bootId, uptimeMs, wallMs: () => startedAtMs - 3_600_000 + dayMs + clockStepMs };
}

/** A state file whose lock says so. Our parent lives as long as we do. */
async function fileHeldBy(bootId: string | undefined): Promise<string> {
  const path = join(directory, randomUUID());
  await writeFile(`${path}.lock`, JSON.stringify({ pid: process.ppid, startedAtMs, bootId }));
  return path;
}

describe("a lock of a process that lives", () => {
  test.each([
    ["of this boot", "boot-1", machine("boot-1")],
    [
      "of this boot, though the clock was set forward since",
      "boot-1",
      machine("boot-1", 2 * dayMs),
    ],
    ["of this boot, though the clock was set back since", "boot-1", machine("boot-1", -2 * dayMs)],
    ["of an older hub", undefined, machine("boot-1")],
    ["on a system whose boots have no names", undefined, machine(undefined)],
    ["that knew the boot's name, where it can no longer be read", "boot-1", machine(undefined)],
  ])("is respected: %s", async (_title, bootId, here) => {
    const path = await fileHeldBy(bootId);
    await expect(lockStateFile(path, here)).rejects.toThrow(StateFileLockedError);
  });

  test.each([
    ["of another boot", "boot-0", machine("boot-1")],
    ["of another boot, though it seems younger than this one", "boot-0", machine("boot-1", -dayMs)],
    ["of an older hub, from before this boot", undefined, machine("boot-1", 2 * 3_600_000)],
    ["without names, from before this boot", undefined, machine(undefined, 2 * 3_600_000)],
  ])("is another program's process, and taken over: %s", async (_title, bootId, here) => {
    const path = await fileHeldBy(bootId);
    const lock = await lockStateFile(path, here);
    const text = await readFile(`${path}.lock`, "utf8");
    expect(JSON.parse(text)).toEqual({
      pid: process.pid,
      startedAtMs: Math.round(performance.timeOrigin),
      ...(here.bootId === undefined ? {} : { bootId: here.bootId }),
    });
    await lock.release();
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});

const bootIdPath = "/proc/sys/kernel/random/boot_id";

test.skipIf(!existsSync(bootIdPath))("a lock names the boot as the kernel does", async () => {
  const path = join(directory, randomUUID());
  const lock = await lockStateFile(path);
  const bootId = (await readFile(bootIdPath, "utf8")).trim();
  expect(JSON.parse(await readFile(`${path}.lock`, "utf8"))).toMatchObject({ bootId });
  await lock.release();
});
