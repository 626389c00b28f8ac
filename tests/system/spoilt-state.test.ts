import { fileRoomStore } from "@roomhub/hub";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestHub } from "../support/start-test-hub.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("a state file with one password that nobody can check is set aside whole, and the hub starts", async () => {
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
