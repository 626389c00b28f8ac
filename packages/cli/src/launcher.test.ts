import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const launcher = fileURLToPath(new URL("../bin/roomhub.js", import.meta.url));

const made: string[] = [];

afterAll(async () => {
  for (const root of made) await rm(root, { recursive: true });
});

/** A checkout in which the test provides the program. */
async function makeCheckout(program: string): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "roomhub-launcher-"));
  made.push(root);
  const cli = join(root, "packages", "cli");
  for (const dir of ["bin", "src", "dist"]) await mkdir(join(cli, dir), { recursive: true });
  await writeFile(join(cli, "package.json"), '{"type":"module"}');
  await writeFile(join(cli, "bin", "roomhub.js"), await readFile(launcher));
  await writeFile(join(cli, "src", "bin.ts"), program);
  await writeFile(join(cli, "dist", "bin.js"), 'process.stdout.write("from dist");');
  await mkdir(join(root, "node_modules"));
  return root;
}

function launch(root: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [join(root, "packages", "cli", "bin", "roomhub.js"), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function linkWorkspace(root: string): Promise<void> {
  await symlink(join("..", "packages", "cli"), join(root, "node_modules", "roomhub"));
}

test("in a checkout the sources run, with the arguments, and the exit code is passed on", async () => {
  const root = await makeCheckout(
    "const said: string = process.argv.slice(2).join(); process.stdout.write(said); process.exit(7);",
  );
  await linkWorkspace(root);
  const child = launch(root, "a", "--b");
  const said = child.stdout!.toArray();
  expect(await once(child, "exit")).toEqual([7, null]);
  expect(Buffer.concat(await said).toString()).toBe("a,--b");
});

test.each([
  ["", "node_modules/.cache/roomhub"],
  ["named", "named"],
])(
  "in a checkout what was compiled is kept for the next start, in the folder that %j names",
  async (named, folder) => {
    const root = await makeCheckout("const text: string = 'a'; process.stdout.write(text);");
    await linkWorkspace(root);
    const path = join(root, "packages", "cli", "bin", "roomhub.js");
    const { NODE_COMPILE_CACHE: _, ...env } = process.env;
    const child = spawn(process.execPath, [path], {
      env: named === "" ? env : { ...env, NODE_COMPILE_CACHE: join(root, named) },
    });
    expect(await once(child, "exit")).toEqual([0, null]);
    const kept = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
    expect(kept.filter((entry) => entry.isFile())).not.toEqual([]);
  },
);

test("installed from npm the build runs, although the sources are there too", async () => {
  const root = await makeCheckout("process.exit(9);");
  const child = launch(root);
  const said = child.stdout!.toArray();
  expect(await once(child, "exit")).toEqual([0, null]);
  expect(Buffer.concat(await said).toString()).toBe("from dist");
});

test("a checkout without dependencies prints the next step in one line", async () => {
  const root = await makeCheckout("process.exit(9);");
  await writeFile(join(root, "packages", "cli", "dist", "bin.js"), 'import "commander";');
  const child = launch(root);
  const said = child.stderr!.toArray();
  expect(await once(child, "exit")).toEqual([1, null]);
  expect(Buffer.concat(await said).toString()).toBe(
    `This checkout is not installed yet. Run npm ci in ${root} first.\n`,
  );
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s sent to the launcher reaches the program exactly once",
  async (signal) => {
    const root = await makeCheckout(
      `let count: number = 0; process.on("${signal}", () => { count++; setTimeout(() => process.exit(40 + count), 30); });
       setInterval(() => {}, 1000); process.stdout.write("up");`,
    );
    await linkWorkspace(root);
    const child = launch(root);
    await once(child.stdout!, "data");
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([41, null]);
  },
);

test("a program that dies of a signal lets the launcher die of it too", async () => {
  const root = await makeCheckout('process.kill(process.pid, "SIGKILL");');
  await linkWorkspace(root);
  expect(await once(launch(root), "exit")).toEqual([null, "SIGKILL"]);
});

test("an unsupported Node prints the required version in one line", async () => {
  const root = await makeCheckout("process.exit(9);");
  const path = join(root, "packages", "cli", "bin", "roomhub.js");
  const oldNode = 'Object.defineProperty(process.versions, "node", { value: "18.19.0" });';
  await writeFile(join(root, "old.cjs"), oldNode);
  const child = spawn(process.execPath, ["--require", join(root, "old.cjs"), path]);
  const said = child.stderr.toArray();
  expect(await once(child, "exit")).toEqual([1, null]);
  expect(Buffer.concat(await said).toString()).toBe(
    "roomhub needs Node 22.21 or newer; this is Node 18.19.0. Install one from https://nodejs.org\n",
  );
});
