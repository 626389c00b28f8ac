// Builds the page of `roomhub monitor`: into apps/monitor/dist for any static host, and into the command's package, which is
// published with it.
import { cpSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, "apps", "monitor");
const inPackage = join(root, "packages", "cli", "dist", "monitor-page");

await build({ configFile: join(page, "vite.config.ts") });
rmSync(inPackage, { recursive: true, force: true });
cpSync(join(page, "dist"), inPackage, { recursive: true });
