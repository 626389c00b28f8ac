// Builds one executable for the machine it runs on, of Node and the package that hubs hand out: `npm run build:binary`, or
// with another folder than `dist`: `npm run build:binary -- FOLDER`.
//
// FOLDER/roomhub-VERSION-PLATFORM-ARCH   with .exe on Windows
//
// The package's files are inside as they are, in a file system that Node shows to the program alone: chunks are loaded when
// they are needed, the monitor's files are read, and a hub hands out the same tarball.
// https://nodejs.org/api/single-executable-applications.html
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeProgram } from "./node-program.ts";
import { executableName } from "./platform.ts";

/** Of the Node it is made of. */
const mostTimesTheSize = 1.15;

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folder = resolve(process.argv[2] ?? join(root, "dist"));
const manifest = await readFile(join(root, "packages/cli/package.json"), "utf8");
const { version } = JSON.parse(manifest) as { version: string };
const file = join(folder, executableName(version, process));

await mkdir(folder, { recursive: true });
const work = await mkdtemp(join(tmpdir(), "roomhub-binary-"));
try {
  const node = nodeProgram(root);
  const packed = await buildPackage();
  await buildExecutable(node, join(work, "roomhub"));
  sign();
  const [nodeBytes, bytes] = await Promise.all([sizeOf(node), sizeOf(file)]);
  if (bytes > nodeBytes * mostTimesTheSize) {
    throw new Error(`${file} has ${bytes} bytes, over ${mostTimesTheSize} times those of Node`);
  }
  const hash = createHash("sha256").update(await readFile(file));
  const sha256 = hash.digest("hex");
  console.log(JSON.stringify({ file, bytes, nodeBytes, sha256, handout: packed.sha512 }));
} finally {
  await rm(work, { recursive: true, force: true });
}

async function buildPackage(): Promise<{ sha512: string }> {
  const script = join(root, "scripts", "bundle", "build.ts");
  const args = ["--conditions=@roomhub/source", script, work];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as {
    sha512: string;
  };
}

/** @param packageFolder - its source maps are left out, as in the tarball */
async function buildExecutable(node: string, packageFolder: string): Promise<void> {
  const names = await readdir(packageFolder, { recursive: true, withFileTypes: true });
  const paths = names
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".map"))
    .map((entry) => join(entry.parentPath, entry.name));
  const assets = paths.map((path) => {
    return [relative(packageFolder, path).replaceAll(sep, "/"), path] as const;
  });
  const main = join(work, "main.mjs");
  await writeFile(main, 'await import("./dist/bin.js");\n');
  const config = join(work, "sea.json");
  await writeFile(
    config,
    JSON.stringify({
      main,
      mainFormat: "module",
      executable: node,
      output: file,
      useVfs: true,
      disableExperimentalSEAWarning: true,
      assets: Object.fromEntries(assets),
    }),
  );
  execFileSync(node, ["--build-sea", config], { stdio: ["ignore", 2, 2] });
}

/** macOS starts no program on Apple silicon without a signature; releases are signed again, with a certificate. */
function sign(): void {
  if (process.platform !== "darwin") return;
  execFileSync("codesign", ["--sign", "-", "--force", file], { stdio: ["ignore", 2, 2] });
}

async function sizeOf(path: string): Promise<number> {
  const { size } = await stat(path);
  return size;
}
