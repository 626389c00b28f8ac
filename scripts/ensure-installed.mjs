// Runs before `npm start` and `npm test`: installs when node_modules is missing or older than the lockfile.
// Plain JavaScript without dependencies, because it runs before there are any.
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

function modifiedMs(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs;
}

const installedMs = modifiedMs("node_modules/.package-lock.json");
const lockedMs = modifiedMs("package-lock.json");
if (installedMs === undefined || (lockedMs !== undefined && installedMs < lockedMs)) {
  console.error("roomhub: installing packages (npm ci), once …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  // Under an older Node npm warns about each package that needs a newer one, although the scripts then use their own.
  const install = spawnSync(npm, ["ci", "--loglevel=error", "--no-audit", "--no-fund"], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: process.platform === "win32",
  });
  if (install.status !== 0) {
    console.error(
      "roomhub: npm ci failed. The lines above say why; run `npm ci` by hand to see it again.",
    );
    process.exit(install.status ?? 1);
  }
}
