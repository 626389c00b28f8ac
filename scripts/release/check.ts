// Proves that what would be published is what was tested: builds and packs every package, looks into the tarballs, installs
// and runs these very files, and records their hashes, which `release:publish` compares: `npm run release:check`.
//
// dist/release/*.tgz          one per package
// dist/release/release.json   their hashes, and the commit
// dist/release/sbom.cdx.json  the packages inside the command
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Manifest,
  manifestProblems,
  unreadyReasons,
  type WorkspacePackage,
} from "./manifest.ts";
import { differentFiles, lacksVersion, packedProblems } from "./packed-problems.ts";
import { integrityOf, publishingOrder, type ReleaseRecord } from "./record.ts";
import { run } from "./run.ts";
import { smokeLibraries } from "./smoke-libraries.ts";
import { smokeProgram } from "./smoke-program.ts";
import { type PackedFile, readTarball } from "./tarball.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folder = join(root, "dist", "release");
const work = await mkdtemp(join(tmpdir(), "roomhub-release-"));

interface Packed {
  name: string;
  file: string;
  sha512: string;
  files: PackedFile[];
  dependencies: string[];
}

try {
  const workspace = await readJson<Manifest>("package.json");
  const packages = await workspacePackages();
  const version = packages[0]?.manifest.version ?? "";
  refuse(await checkManifests(workspace, packages));

  const handedOut = await build(packages);
  const packed = await pack(packages);
  const license = await readFile(join(root, "LICENSE"), "utf8");
  refuse(
    packed.flatMap(({ name, files }) => packedProblems(files, { name, version, license, root })),
  );
  const command = packed.find(({ name }) => name === "roomhub");
  if (command === undefined) throw new Error("there is no package roomhub");
  const different = differentFiles(readTarball(handedOut.tarball), command.files);
  refuse(different.map((path) => `hubs hand out another ${path} than what is published`));
  await cp(join(work, "first", "sbom.cdx.json"), join(folder, "sbom.cdx.json"));
  step("packed", `${packed.length} packages, each with what it names and nothing else`);

  const libraries = packed.filter((one) => one !== command);
  await smokeLibraries(
    root,
    libraries.map(({ name }) => name),
    libraries.map(({ file }) => join(folder, file)),
  );
  step("libraries", "installed, imported, compiled against");
  await smokeCommand(join(folder, command.file), version, handedOut.sha512);
  step(
    "command",
    "installed without a registry; a hub, a participant, a request, doctor, with the oldest Node, too",
  );

  const record: ReleaseRecord = {
    version,
    commit: (await run(root, "git", "rev-parse", "HEAD")).trim(),
    packages: publishingOrder(packed).map(({ name, file, sha512 }) => ({ name, file, sha512 })),
    unready: [
      ...unreadyReasons(workspace, await waitingChangesets(), await uncommittedFiles()),
      ...packed
        .filter(({ files }) => lacksVersion(files, version))
        .map(({ name }) => `the change log of ${name} has no ${version}`),
    ],
  };
  await writeFile(join(folder, "release.json"), `${JSON.stringify(record, null, 2)}\n`);
  for (const reason of record.unready) console.log(`before publishing: ${reason}`);
  console.log(`release ok: ${version}, in ${folder}`);
} finally {
  await rm(work, { recursive: true, force: true });
}

async function workspacePackages(): Promise<WorkspacePackage[]> {
  const names = await readdir(join(root, "packages"));
  return Promise.all(
    names.toSorted().map(async (name) => {
      const place = `packages/${name}`;
      return { folder: place, manifest: await readJson<Manifest>(`${place}/package.json`) };
    }),
  );
}

async function checkManifests(
  workspace: Manifest,
  packages: readonly WorkspacePackage[],
): Promise<string[]> {
  const lock = await readJson<{ packages: Record<string, { version?: string }> }>(
    "package-lock.json",
  );
  const document = await readJson<{ info: { version: string } }>("packages/hub/openapi.json");
  const problems = manifestProblems(workspace, packages, {
    locked: Object.fromEntries(
      packages.map((one) => [one.folder, lock.packages[one.folder]?.version]),
    ),
    openApi: document.info.version,
  });
  if (problems.length === 0) step("manifests", "one version, public, with provenance");
  return problems;
}

/**
 * Builds the libraries from nothing, since the compiler leaves the output of sources that were removed, and the command
 * twice: on another machine it must have the same bytes.
 */
async function build(packages: readonly WorkspacePackage[]): Promise<{
  tarball: Buffer;
  sha512: string;
}> {
  for (const { folder: place, manifest } of packages) {
    if (manifest.bin !== undefined) continue;
    await rm(join(root, place, "dist"), { recursive: true, force: true });
    await rm(join(root, place, "tsconfig.tsbuildinfo"), { force: true });
  }
  await run(
    root,
    process.execPath,
    join(root, "node_modules/typescript/bin/tsc"),
    "-b",
    "tsconfig.build.json",
  );
  const [first, second] = [await buildCommand("first"), await buildCommand("second")];
  if (first.sha512 !== second.sha512) throw new Error("two builds of the command differ");
  step("built", "twice, with the same bytes");
  return { tarball: await readFile(first.file), sha512: first.sha512 };
}

async function buildCommand(name: string): Promise<{ file: string; sha512: string }> {
  const script = join(root, "scripts", "bundle", "build.ts");
  const place = join(work, name);
  const printed = await run(root, process.execPath, "--conditions=@roomhub/source", script, place);
  return JSON.parse(printed) as { file: string; sha512: string };
}

/** The libraries as they are in the workspace, the command as it was built. */
async function pack(packages: readonly WorkspacePackage[]): Promise<Packed[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const places = packages.map(({ folder: place, manifest }) =>
    manifest.bin === undefined ? join(root, place) : join(work, "first", "roomhub"),
  );
  const flags = ["--json", "--ignore-scripts", "--pack-destination", folder];
  const printed = await run(root, "npm", "pack", ...places, ...flags);
  const results = JSON.parse(printed) as { name: string; filename: string }[];
  return Promise.all(
    results.map(async ({ name, filename }) => {
      const file = filename.replace("@", "").replace("/", "-");
      const tarball = await readFile(join(folder, file));
      const files = readTarball(tarball);
      const manifest = files.find(({ path }) => path === "package.json")?.body.toString() ?? "{}";
      const { dependencies = {} } = JSON.parse(manifest) as Manifest;
      const sha512 = integrityOf(tarball);
      return { name, file, sha512, files, dependencies: Object.keys(dependencies) };
    }),
  );
}

async function smokeCommand(tarball: string, version: string, handout: string): Promise<void> {
  const command = await readJson<Manifest>("packages/cli/package.json");
  const app = join(work, "app");
  await mkdir(app);
  await writeFile(join(app, "package.json"), '{ "private": true }\n');
  const cache = join(work, "empty-cache");
  const offline = ["--offline", "--cache", cache, "--no-audit", "--no-fund"];
  await run(app, "npm", "install", ...offline, tarball);
  const launcher = join(app, "node_modules", "roomhub", "bin", "roomhub.js");
  const oldest = await oldestNode(command.engines?.node);
  for (const node of [process.execPath, oldest])
    await smokeProgram({ program: [node, launcher], version, handout });
}

/** Its path. @param range - of the versions that the program supports, such as `>=22.21` */
async function oldestNode(range = ""): Promise<string> {
  const [, version] = /^>=(\d+\.\d+)$/.exec(range) ?? [];
  if (version === undefined) throw new Error(`the oldest Node is not to be read from "${range}"`);
  const place = join(work, "oldest");
  await mkdir(place);
  await writeFile(join(place, "package.json"), '{ "private": true }\n');
  await run(place, "npm", "install", "--no-audit", "--no-fund", `node@${version}.0`);
  return join(
    place,
    "node_modules",
    "node",
    "bin",
    process.platform === "win32" ? "node.exe" : "node",
  );
}

async function waitingChangesets(): Promise<number> {
  const names = await readdir(join(root, ".changeset"));
  return names.filter((name) => name.endsWith(".md") && name !== "README.md").length;
}

async function uncommittedFiles(): Promise<number> {
  const status = await run(root, "git", "status", "--porcelain");
  return status.split("\n").filter((line) => line !== "").length;
}

async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(join(root, path), "utf8")) as T;
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(`this cannot be released:\n${problems.join("\n")}`);
}

function step(name: string, what: string): void {
  console.log(`${name}: ${what}`);
}
