// Runs before `npm start` and `npm test`: installs when node_modules lacks a package of the lockfile. What else changes the
// lockfile is no reason, since `npm ci` removes all packages first, which without a network is the end of the checkout.
// Plain JavaScript without dependencies, because it runs before there are any.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

if (!isInstalled()) {
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

function isInstalled() {
  const installed = packagesOf("node_modules/.package-lock.json");
  return Object.entries(packagesOf("package-lock.json")).every(
    ([path, { version, optional }]) =>
      path === "" ||
      optional === true ||
      (path in installed && installed[path].version === version),
  );
}

function packagesOf(lockfile) {
  const path = join(root, lockfile);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).packages : {};
}
