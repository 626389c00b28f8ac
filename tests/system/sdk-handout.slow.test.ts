import { mkdir, readdir, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createHandout } from "../../packages/cli/src/handout/create-handout.ts";
import { startTestHub } from "../support/hub/start-test-hub.ts";
import { bareNpm, hasNpx } from "../support/programs/bare-npm.ts";
import { runCommand } from "../support/programs/run-command.ts";
import { temporaryFolder } from "../support/programs/temporary-folder.ts";

/** Of a busy machine, for what is built. */
const buildMs = 60_000;
const compiler = fileURLToPath(
  new URL("../../node_modules/typescript/lib/tsc.js", import.meta.url),
);

const program = `import { isRoomhubError, openRoom, RoomhubClient, type Room } from "@roomhub/client";
const [hubUrl = "", code = ""] = process.argv.slice(2);
const hub = new RoomhubClient({ hubUrl });
const rooms: Room[] = await hub.listRooms();
const room = await openRoom(\`\${hubUrl}/rooms/\${code}\`);
const refusal = await hub.getRoom("QQQQQQ").catch((error: unknown) => error);
console.log(rooms[0]?.name, room.baseURL, isRoomhubError(refusal, "room_not_found"));
const onOpen = () => void hub.createRoom({ name: "second" });
for await (const event of hub.events(undefined, { onOpen })) {
  const name: string = event.type === "room.created" ? event.room.name : event.type;
  console.log(name);
  break;
}
// @ts-expect-error: types resolve, so a wrong one is reported
const wrong: number = rooms[0]!.name;
declare const process: { argv: string[] };
declare const console: { log: (...texts: unknown[]) => void };
`;

test.skipIf(!hasNpx)(
  `a program gets the SDK from a hub without a registry, with its types, and uses it${hasNpx ? "" : " (skipped: no npm here)"}`,
  async () => {
    await using stack = new AsyncDisposableStack();
    const handout = createHandout();
    const hub = stack.use(await startTestHub({ handout }));
    const code = await hub.createRoom();
    // Built here, so that no request waits for it.
    await handout?.sdk();
    const folder = stack.use(await temporaryFolder()).path;
    const user = await bareNpm(folder);
    const app = join(await realpath(folder), "app");
    await mkdir(app);
    const run = (line: string) =>
      runCommand(
        "env",
        [
          ...["-i", "-C", app],
          ...Object.entries(user).map(([name, value]) => `${name}=${value}`),
          ...["sh", "-c", line],
        ],
        buildMs,
      );

    const installed = await run(`npm install --no-audit ${hub.url}/roomhub-client.tgz`);
    expect(installed).toMatchObject({ exitCode: 0 });
    expect(await readdir(join(app, "node_modules"))).toEqual([".package-lock.json", "@roomhub"]);

    await writeFile(join(app, "use.mts"), program);
    const options = { module: "nodenext", target: "es2024", strict: true, noEmit: true, types: [] };
    const compilerOptions = { ...options, lib: ["es2024", "dom", "dom.asynciterable"] };
    await writeFile(
      join(app, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["use.mts"] }),
    );
    expect(await run(`node ${compiler}`)).toMatchObject({ exitCode: 0, stdout: "" });
    expect(await run(`node use.mts ${hub.url} ${code}`)).toMatchObject({
      exitCode: 0,
      stdout: `lab ${hub.url}/rooms/${code}/v1 true\nsecond\n`,
    });
  },
);
