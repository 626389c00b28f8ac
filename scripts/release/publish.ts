// Publishes the tarballs that `release:check` tested, and tags the commit: `npm run release:publish`, or with `--dry-run`.
// A version that the registry has already is left out, so it can be run again after a failure.
import { execFileSync, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { publishingProblems, type ReleaseRecord } from "./record.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const folder = join(root, "dist", "release");
const isDryRun = process.argv.includes("--dry-run");

const record = JSON.parse(await readFile(join(folder, "release.json"), "utf8")) as ReleaseRecord;
const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
const problems = await publishingProblems(folder, record, commit);
if (problems.length > 0 && !isDryRun) {
  console.error(`nothing is published:\n${problems.join("\n")}`);
  process.exit(1);
}
for (const problem of problems) console.log(`before publishing: ${problem}`);
for (const { name, file } of record.packages) {
  if (isPublished(`${name}@${record.version}`)) {
    console.log(`${name} ${record.version} is published already`);
    continue;
  }
  if (isDryRun) console.log(`would publish ${file}`);
  else npm("publish", join(folder, file));
}
if (!isDryRun) npm("exec", "changeset", "tag");

function isPublished(name: string): boolean {
  if (isDryRun) return false;
  const shell = process.platform === "win32";
  const { status, stdout } = spawnSync("npm", ["view", name, "version"], {
    shell,
    encoding: "utf8",
  });
  return status === 0 && stdout.trim() !== "";
}

function npm(...args: string[]): void {
  const shell = process.platform === "win32";
  execFileSync("npm", args, { cwd: root, stdio: "inherit", shell });
}
