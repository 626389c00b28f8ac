// Builds every package and checks what would be published: entry points, types, files. Part of `npm run check`.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");

function run(command, args, cwd) {
  const result = spawnSync(join(bin, command), args, { cwd, encoding: "utf8" });
  if (result.status === 0) return;
  console.error(`${command} ${args.join(" ")} failed in ${cwd}\n${result.stdout}${result.stderr}`);
  process.exit(1);
}

/** A program has no types to offer; a library does. */
function isLibrary(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return manifest.bin === undefined;
}

run("tsc", ["-b", "tsconfig.build.json"], root);
const folders = readdirSync(join(root, "packages")).map((name) => join(root, "packages", name));
for (const folder of folders) {
  if (!existsSync(join(folder, "package.json"))) continue;
  run("publint", ["--strict"], folder);
  if (isLibrary(folder)) run("attw", ["--pack", ".", "--profile", "esm-only"], folder);
  console.log(`package ok: ${folder.slice(root.length + 1)}`);
}
