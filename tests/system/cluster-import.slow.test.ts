import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileRoomStore, NatsDirectory } from "@roomhub/hub";
import { describe, expect, test } from "vitest";
import { joinDirect } from "../support/hub/joining.ts";
import { startTestHub, type TestHub } from "../support/hub/start-test-hub.ts";
import { hasNatsServer, natsSkipped, startNatsServer } from "../support/programs/nats-server.ts";
import { type CommandResult, runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

const launcher = fileURLToPath(new URL("../../packages/cli/bin/roomhub.js", import.meta.url));

/** Rooms as one hub leaves them: with a password and without, and with an alias. */
async function hubThatWasAlone(path: string) {
  await using hub = await startTestHub({ store: fileRoomStore(path) });
  const { room, hostToken = "" } = await hub.client.createRoom({ name: "open" });
  const alias = { pattern: "gpt-*", targets: ["*"] };
  await hub.fetch(`/v1/rooms/${room.code}/aliases`, { json: alias });
  const locked = await hub.createRoom("swordfish");
  return { open: room.code, hostToken, locked };
}

function startClusterHub(servers: string[]): Promise<TestHub> {
  const secret = Buffer.alloc(32, "cluster");
  const directory = new NatsDirectory({ servers });
  return startTestHub({ cluster: { directory, secret }, trustProxy: ["127.0.0.1"] });
}

function importRooms(path: string, url: string): Promise<CommandResult> {
  return runCommand(process.execPath, [launcher, "rooms", "import", path, "--nats", url]);
}

describe.skipIf(!hasNatsServer)(`rooms import${natsSkipped}`, () => {
  test("moves rooms to hubs that run, with passwords, aliases and host tokens, and once only", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "rooms.json");
    const { open, hostToken, locked } = await hubThatWasAlone(path);
    const before = await readFile(path, "utf8");
    const digests = [...before.matchAll(/Digest": "([^"]+)"/g)].map(([, digest]) => digest ?? "");
    expect(digests).toHaveLength(3);
    await using nats = await startNatsServer(["--user", "hub", "--pass", "s3cret"]);
    const url = nats.url.replace("//", "//hub:s3cret@");
    await using hub = await startClusterHub([url]);
    const watched = await hub.watch(undefined);

    const first = await importRooms(path, url);
    expect([first.stderr, first.exitCode]).toEqual([
      expect.stringContaining("2 rooms: 2 imported, 0 already there, 0 refused\n"),
      0,
    ]);
    await watched.waitFor("both rooms", () => watched.of("room.created").length === 2);
    const away = { "x-forwarded-for": "203.0.113.9" };
    const added = await hub.fetch(`/v1/rooms/${open}/aliases`, {
      json: { pattern: "claude-*", targets: ["*"] },
      headers: { ...away, "x-host-token": hostToken },
    });
    const aliases = await (await hub.fetch(`/v1/rooms/${open}/aliases`)).json();
    expect([added.status, aliases]).toMatchObject([
      201,
      { aliases: [{ pattern: "gpt-*" }, { pattern: "claude-*" }] },
    ]);
    const participant = { endpoint: "http://127.0.0.1:1", password: "wrong" };
    await expect(joinDirect(hub, locked, participant)).rejects.toMatchObject({
      code: "invalid_password",
    });
    await joinDirect(hub, locked, { ...participant, password: "swordfish" });

    const again = await importRooms(path, url);
    expect(again.exitCode).toBe(1);
    expect(again.stdout).toMatch(new RegExp(`${locked} +lab +was there\n`));
    expect(again.stdout).toContain("refused: the cluster's room has another list of aliases");
    await using late = await startClusterHub([url]);
    expect((await late.client.listRooms()).map(({ code }) => code).sort()).toEqual(
      [open, locked].sort(),
    );

    const printed = [first, again].flatMap(({ stdout, stderr }) => [stdout, stderr]).join("");
    for (const secret of [...digests, "s3cret"]) expect(printed).not.toContain(secret);
    expect(await readFile(path, "utf8")).toBe(before);
  });

  test("leaves a file that a hub has, and one that is broken, as they are", async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "rooms.json");
    await using nats = await startNatsServer();
    {
      await using hub = await startTestHub({ store: fileRoomStore(path) });
      await hub.createRoom();
      const refused = await importRooms(path, nats.url);
      expect(refused.stderr).toContain(`is in use by process ${process.pid}`);
      expect(refused.exitCode).toBe(1);
    }
    const broken = `${await readFile(path, "utf8")}}`;
    await writeFile(path, broken);
    const refused = await importRooms(path, nats.url);
    expect(refused.stderr).toContain("cannot be used: it is not JSON");
    expect(refused.exitCode).toBe(1);
    expect(await readFile(path, "utf8")).toBe(broken);
    await using hub = await startClusterHub([nats.url]);
    expect(await hub.client.listRooms()).toEqual([]);
  });
});
