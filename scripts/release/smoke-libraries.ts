// Installs packed libraries into an empty folder and uses them there, as an application would.
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./run.ts";

/**
 * Installs, imports and compiles.
 *
 * @param root - the workspace, whose compiler is used
 * @param names - of the packages
 * @param tarballs - their paths
 * @throws with the output of the step that failed
 */
export async function smokeLibraries(
  root: string,
  names: readonly string[],
  tarballs: readonly string[],
): Promise<void> {
  // Below a symbolic link, the paths of modules would differ from the folder's.
  const app = await realpath(await mkdtemp(join(tmpdir(), "roomhub-libraries-")));
  try {
    await install(app, tarballs);
    await importEach(app, names);
    await compileConsumers(root, app);
  } finally {
    await rm(app, { recursive: true, force: true });
  }
}

async function install(app: string, tarballs: readonly string[]): Promise<void> {
  await mkdir(app, { recursive: true });
  await writeFile(join(app, "package.json"), '{ "private": true, "type": "module" }\n');
  await run(app, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs);
}

async function importEach(app: string, names: readonly string[]): Promise<void> {
  const lines = names.map(
    (name) =>
      `if (Object.keys(await import("${name}")).length === 0) throw new Error("${name} exports nothing");`,
  );
  await writeFile(join(app, "import-each.js"), `${lines.join("\n")}\n`);
  await run(app, process.execPath, "import-each.js");
}

/** The SDK, its protocol and a room's state need no types of Node; the others are for programs that have them. */
async function compileConsumers(root: string, app: string): Promise<void> {
  const options = { module: "nodenext", target: "es2023", strict: true, noEmit: true };
  const page = {
    ...options,
    lib: ["es2024", "dom", "dom.iterable", "dom.asynciterable"],
    types: [],
  };
  const program = {
    ...options,
    types: ["node"],
    typeRoots: [join(root, "node_modules", "@types")],
    skipLibCheck: true,
  };
  await compile(root, app, "page", page, [
    'import { RoomhubClient } from "@roomhub/client";',
    'import { ERROR_STATUS, type Room } from "@roomhub/protocol";',
    'import { initialState, roomFigures } from "@roomhub/room-state";',
    'const client = new RoomhubClient({ hubUrl: "http://127.0.0.1:5050" });',
    "export const rooms: Promise<Room[]> = client.listRooms();",
    "export const status: number = ERROR_STATUS.room_not_found.status;",
    "export const requests: number = roomFigures(initialState(), Date.now()).requests;",
  ]);
  await compile(root, app, "program", program, [
    'import { createHub, type Hub } from "@roomhub/hub";',
    'import { createParticipant } from "@roomhub/participant";',
    'import { ProviderClient } from "@roomhub/provider";',
    'import { RequesterSession } from "@roomhub/tunnel";',
    "export const hub: Hub = createHub({ port: 0 });",
    "export const parts: unknown[] = [createParticipant, ProviderClient, RequesterSession];",
    "// @ts-expect-error: types resolve, so a wrong one is reported",
    'createHub({ port: "none" });',
  ]);
}

async function compile(
  root: string,
  app: string,
  name: string,
  compilerOptions: object,
  lines: readonly string[],
): Promise<void> {
  await writeFile(join(app, `${name}.ts`), `${lines.join("\n")}\n`);
  const project = `tsconfig.${name}.json`;
  await writeFile(join(app, project), JSON.stringify({ compilerOptions, files: [`${name}.ts`] }));
  await run(app, join(root, "node_modules", ".bin", "tsc"), "-p", project);
}
