import { fileRoomStore } from "@roomhub/hub";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startHubProcess } from "../support/programs/roomhub-process.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

test("a state file with one password that cannot be checked is set aside completely, and the hub starts", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "rooms.json");
  {
    await using hub = await startTestHub({ store: fileRoomStore(path) });
    for (const password of [undefined, "swordfish", undefined]) await hub.createRoom(password);
  }
  const spoilt = (await readFile(path, "utf8")).replace("scrypt$32768$", "scrypt$262144$");
  await writeFile(path, spoilt);
  const warnings: string[] = [];
  const store = fileRoomStore(path, { onWarning: (message) => warnings.push(message) });
  {
    await using hub = await startTestHub({ store });
    expect(await hub.client.listRooms()).toEqual([]);
  }
  expect(warnings).toEqual([expect.stringContaining("rooms.1.passwordDigest is not valid")]);
  const [aside, ...others] = (await readdir(folder.path)).filter((name) => name !== "rooms.json");
  expect([aside, others]).toEqual([expect.stringMatching(/^rooms\.json\.broken-/), []]);
  expect(await readFile(join(folder.path, aside!), "utf8")).toBe(spoilt);
});

/** Linux, sysfs(5): the kernel's folder, in which not even root makes a file. */
const readOnlyFolder = "/sys/kernel";

test.skipIf(!existsSync(readOnlyFolder))(
  "a read-only state folder is one warning, nothing claims that rooms are kept, and they live while the hub does",
  async () => {
    const path = join(readOnlyFolder, "rooms.json");
    await using hub = await startHubProcess(["--port", "0", "--state-file", path]);
    await hub.line("that rooms are kept nowhere", (line) => line["statePath"] === null);
    for (const password of [undefined, "swordfish"]) {
      const body = JSON.stringify({ name: "lab", password });
      expect((await fetch(`${hub.url}/rooms`, { method: "POST", body })).status).toBe(201);
    }
    await hub.kill("SIGTERM");
    expect(hub.output.match(/Rooms are/g)).toHaveLength(1);
    expect(hub.output).toContain(`Rooms are not kept over a restart, the state file ${path}`);
    const lines = hub.output.split("\n").filter((line) => line.includes(readOnlyFolder));
    expect(lines).toHaveLength(1);
  },
);
