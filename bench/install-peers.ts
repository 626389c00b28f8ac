/** `npm run bench:peers`: what is measured beside the hub and comes from npm, into a folder of its own. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".peers/", import.meta.url));
const manifest = {
  private: true,
  dependencies: { "@portkey-ai/gateway": "1.15.2" },
  // With a newer one it does not start.
  overrides: { hono: "4.6.10" },
};

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, ".gitignore"), "*\n");
writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
const flags = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
const install = spawnSync(npm, flags, { cwd: folder, stdio: "inherit" });
process.exitCode = install.status ?? 1;
