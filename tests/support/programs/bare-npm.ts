import { spawnSync } from "node:child_process";
import { mkdir, realpath, symlink } from "node:fs/promises";
import { join } from "node:path";

const commands = ["npm", "npx", "curl"].map((name) => ({ name, path: find(name) }));

export const hasNpx = commands.every(({ path }) => path !== "");

/**
 * The variables of a user who has Node, npm and curl, and nothing else, with an empty cache and no registry.
 *
 * @param folder - the user's own
 */
export async function bareNpm(folder: string): Promise<Record<string, string>> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await symlink(process.execPath, join(bin, "node"));
  for (const { name, path } of commands) await symlink(await realpath(path), join(bin, name));
  // npm runs a package's program with it.
  await symlink("/bin/sh", join(bin, "sh"));
  return {
    PATH: bin,
    HOME: folder,
    npm_config_registry: "http://127.0.0.1:9/",
    npm_config_fetch_retries: "0",
    npm_config_update_notifier: "false",
  };
}

/** @returns "" where npm is not installed */
function find(name: string): string {
  return spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();
}
