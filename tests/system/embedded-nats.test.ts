import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startEmbeddedNats } from "../../packages/cli/src/cluster/embedded-nats.ts";
import { findNatsServer } from "../../packages/cli/src/cluster/nats-binary.ts";
import {
  aStoredRoom,
  Replica,
} from "../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import { NatsDirectory } from "../../packages/hub/src/cluster/nats/nats-directory.ts";
import { hasNatsServer, natsSkipped } from "../support/programs/nats-server.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";
import { until } from "../support/waiting.ts";

let stack: AsyncDisposableStack;
let folder: string;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  folder = join(stack.use(await temporaryFolder()).path, "nats");
});
afterEach(() => stack.disposeAsync());

async function startNats(warnings: string[] = []) {
  const binary = await findNatsServer(process.env["PATH"]);
  const onWarning = (message: string) => warnings.push(message);
  const nats = await startEmbeddedNats({ binary, folder, onWarning });
  stack.defer(() => nats.close());
  return nats;
}

async function openDirectory(url: string) {
  const directory = new NatsDirectory({ servers: [url], random: () => 0.01 });
  const replica = new Replica();
  await directory.open(replica);
  stack.defer(() => directory.close());
  return { directory, replica };
}

/** The pid is in the name of the file with its port. */
async function pidOf(): Promise<number> {
  const names = await readdir(folder);
  return Number(/_(\d+)\.ports/.exec(names.join(" "))?.[1]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a nats-server that is not installed is one clear line with the next step", async () => {
  const empty = stack.use(await temporaryFolder()).path;
  const found = findNatsServer(empty).catch((error: unknown) => error);
  const usual = hasNatsServer
    ? expect.objectContaining({ version: [2, expect.any(Number)] })
    : undefined;
  const missing = expect.objectContaining({
    message:
      "nats-server is not installed. Several hubs on one machine need it to find each other.",
    hint: expect.stringContaining("apt install nats-server"),
  });
  expect(await found).toEqual(usual ?? missing);
});

test.skipIf(process.platform === "win32")(
  "a nats-server before 2.9 is refused by its version",
  async () => {
    const { path } = stack.use(await temporaryFolder());
    const old = join(path, "nats-server");
    await writeFile(old, "#!/bin/sh\necho nats-server: v2.8.4\n", { mode: 0o755 });
    await expect(findNatsServer(path)).rejects.toMatchObject({
      message: `${old} is version 2.8. A cluster needs 2.9 or newer.`,
    });
  },
);

describe.skipIf(!hasNatsServer)(`an embedded nats-server${natsSkipped}`, () => {
  test("takes its own credentials and no others, kept in a file that only its user can read", async () => {
    const { url } = await startNats();
    const { directory } = await openDirectory(url);
    expect(directory.isUp).toBe(true);
    const { host, password } = new URL(url);
    await expect(openDirectory(`nats://${host}`)).rejects.toThrow(/[Aa]uthorization/);
    await expect(openDirectory(`nats://roomhub:wrong@${host}`)).rejects.toThrow(/[Aa]uthorization/);
    const config = join(folder, "nats.conf");
    expect((await stat(config)).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readFile(config, "utf8")).toContain(password);
  });

  test("keeps its data for the next start, with another password", async () => {
    const first = await startNats();
    const one = await openDirectory(first.url);
    await one.directory.putRoom(aStoredRoom("AB23CD"), 0);
    await one.directory.close();
    await first.close();
    const second = await startNats();
    expect(new URL(second.url).password).not.toBe(new URL(first.url).password);
    const { replica } = await openDirectory(second.url);
    expect([...replica.rooms.keys()]).toEqual(["AB23CD"]);
  });

  test("ends when it is closed while it is started again", async () => {
    const warnings: string[] = [];
    const nats = await startNats(warnings);
    process.kill(await pidOf(), "SIGKILL");
    await until(
      "its end to be noticed",
      () => warnings.length,
      (count) => count === 1,
    );
    await nats.close();
    const last = await pidOf();
    expect(Number.isNaN(last) || !isAlive(last)).toBe(true);
  });

  test("is started again on the same port when it is killed, with what it had acknowledged", async () => {
    const warnings: string[] = [];
    const { url } = await startNats(warnings);
    const { directory, replica } = await openDirectory(url);
    await directory.putRoom(aStoredRoom("AB23CD"), 0);
    process.kill(await pidOf(), "SIGKILL");
    await replica.until("the loss", () => replica.states.at(-1) === false);
    await replica.until("its return", () => replica.states.at(-1) === true);
    expect(warnings).toEqual([
      expect.stringMatching(/^nats-server has ended: it is started again/),
    ]);
    await expect(directory.readRoom("AB23CD")).resolves.toMatchObject({
      value: { code: "AB23CD" },
    });
  });

  test("ends when its parent is killed", async () => {
    const parent = spawn(
      process.execPath,
      [
        "--conditions=@roomhub/source",
        fileURLToPath(new URL("../support/programs/nats-parent.ts", import.meta.url)),
        folder,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    stack.defer(() => void parent.kill("SIGKILL"));
    await once(parent.stdout, "data");
    const pid = await pidOf();
    expect(isAlive(pid)).toBe(true);
    parent.kill("SIGKILL");
    await until(
      "the end of nats-server",
      () => isAlive(pid),
      (alive) => !alive,
    );
  });

  test("says what is wrong when it does not start", async () => {
    // Its data cannot be where a file is.
    await mkdir(folder);
    await writeFile(join(folder, "data"), "");
    await expect(startNats()).rejects.toMatchObject({
      message: expect.stringMatching(/^nats-server does not start: ./),
      hint: expect.stringContaining("nats-server.log"),
    });
  });
});
