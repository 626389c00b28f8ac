// Builds every package and checks its entry points and types. Part of `npm run check`; `release:check` looks into what is
// packed, installs it and runs it.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");

function run(command, args, cwd) {
  const result = spawnSync(join(bin, command), args, { cwd, encoding: "utf8" });
  if (result.status !== 0) {
    fail(`${command} ${args.join(" ")} failed in ${cwd}\n${result.stdout}${result.stderr}`);
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

/**
 * What the packages have in common: one version, one licence, whose text npm takes only from beside package.json, and the
 * addresses that the workspace's manifest has.
 */
function checkCommon(folder, manifest) {
  const { name, version, keywords = [] } = manifest;
  if (keywords.length === 0) fail(`${name} has no keywords`);
  for (const address of ["homepage", "repository"]) {
    const expected = workspace[address]?.url ?? workspace[address];
    const given = manifest[address]?.url ?? manifest[address];
    if (given !== expected) fail(`${address} of ${name} must be ${expected ?? "left out"}`);
  }
  const { version: first } = manifests[0];
  if (version !== first) fail(`${name} is ${version}, and ${manifests[0].name} ${first}`);
  const licence = join(folder, "LICENSE");
  const isThere = existsSync(licence);
  if (!isThere || !readFileSync(licence).equals(readFileSync(join(root, "LICENSE")))) {
    fail(`${licence} must be a copy of the workspace's`);
  }
}

const workspace = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
run("tsc", ["-b", "tsconfig.build.json"], root);
await import("./build-monitor.mjs");
const folders = readdirSync(join(root, "packages"))
  .map((name) => join(root, "packages", name))
  .filter((folder) => existsSync(join(folder, "package.json")));
const manifests = folders.map((folder) =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")),
);
for (const [index, folder] of folders.entries()) {
  const manifest = manifests[index];
  checkCommon(folder, manifest);
  run("publint", ["--strict"], folder);
  // A program has no types to offer; a library does.
  const isLibrary = manifest.bin === undefined;
  if (isLibrary) run("attw", ["--pack", ".", "--profile", "esm-only"], folder);
  console.log(`package ok: ${folder.slice(root.length + 1)}`);
}
