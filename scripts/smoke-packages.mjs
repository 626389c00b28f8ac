// Installs what would be published into an empty folder and uses it there, as an application would.
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const execute = promisify(execFile);
const isWindows = process.platform === "win32";

/**
 * Packs, installs, imports, compiles and runs.
 *
 * @param {string} root the workspace, built
 * @param {{ name: string, version: string }[]} packages what is packed
 * @throws with the output of the step that failed
 */
export async function smokePackages(root, packages) {
  // Below a symbolic link, the paths of modules would differ from the folder's.
  const folder = await realpath(await mkdtemp(join(tmpdir(), "roomhub-packages-")));
  try {
    const tarballs = await pack(root, join(folder, "packed"));
    const app = join(folder, "app");
    await install(app, tarballs);
    await importEach(app, packages);
    await compileConsumers(root, app);
    await runProgram(app, packages);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function pack(root, destination) {
  await mkdir(destination);
  await npm(root, "pack", "--workspaces", "--silent", "--pack-destination", destination);
  return (await readdir(destination)).map((file) => join(destination, file));
}

async function install(app, tarballs) {
  await mkdir(app);
  await writeFile(join(app, "package.json"), '{ "private": true, "type": "module" }\n');
  await npm(app, "install", "--prefer-offline", "--no-audit", "--no-fund", ...tarballs);
}

async function importEach(app, packages) {
  const lines = packages.map(
    ({ name }) =>
      `if (Object.keys(await import("${name}")).length === 0) throw new Error("${name} exports nothing");`,
  );
  await writeFile(join(app, "import-each.js"), `${lines.join("\n")}\n`);
  await run(app, process.execPath, "import-each.js");
}

/** The SDK, its protocol and a room's state need no types of Node; the others are for programs that have them. */
async function compileConsumers(root, app) {
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
    'import { HubSession } from "@roomhub/tunnel";',
    "export const hub: Hub = createHub({ port: 0 });",
    "export const parts: unknown[] = [createParticipant, ProviderClient, HubSession];",
    "// @ts-expect-error: types resolve, so a wrong one is reported",
    'createHub({ port: "none" });',
  ]);
}

async function compile(root, app, name, compilerOptions, lines) {
  await writeFile(join(app, `${name}.ts`), `${lines.join("\n")}\n`);
  const project = `tsconfig.${name}.json`;
  await writeFile(join(app, project), JSON.stringify({ compilerOptions, files: [`${name}.ts`] }));
  await run(app, join(root, "node_modules", ".bin", "tsc"), "-p", project);
}

/** Starts the program as `npx` does, requests the hub's health and document, and stops it by a signal. */
async function runProgram(app, packages) {
  const { version } = packages.find(({ name }) => name === "roomhub");
  const said = (await run(app, "npx", "--no", "--", "roomhub", "--version")).trim();
  if (said !== version) throw new Error(`roomhub --version said ${said}, not ${version}`);

  const program = join(app, "node_modules", "roomhub", "bin", "roomhub.js");
  const hub = spawn(process.execPath, [program, "serve", "--port", "0", "--ephemeral", "--json"], {
    cwd: app,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise((resolve) => {
    hub.once("close", (code, signal) => resolve(code ?? signal));
  });
  let told = "";
  hub.stderr.setEncoding("utf8").on("data", (text) => (told += text));
  try {
    const { url } = await firstLine(hub.stdout);
    await run(app, process.execPath, program, "health", "--hub", url);
    const document = await (await fetch(`${url}/openapi.json`)).json();
    if (document.info.version !== version) throw new Error("the hub describes another version");
  } finally {
    hub.kill("SIGTERM");
  }
  const code = await exited;
  if (code !== 0 && !isWindows) throw new Error(`the hub ended with ${code}\n${told}`);
}

async function firstLine(stream) {
  for await (const line of createInterface(stream)) return JSON.parse(line);
  throw new Error("the hub ended before it was ready");
}

function npm(cwd, ...args) {
  return run(cwd, "npm", ...args);
}

async function run(cwd, command, ...args) {
  try {
    const { stdout } = await execute(command, args, { cwd, shell: isWindows, timeout: 120_000 });
    return stdout;
  } catch (error) {
    throw new Error(
      `${command} ${args.join(" ")} failed\n${error.stdout ?? ""}${error.stderr ?? error.message}`,
      { cause: error },
    );
  }
}
