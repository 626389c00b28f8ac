import { spawnSync } from "node:child_process";
import { mkdir, realpath, symlink } from "node:fs/promises";
import { join } from "node:path";

/** Where `npx` is; undefined where npm is not installed. */
const npx = spawnSync("sh", ["-c", "command -v npx"], { encoding: "utf8" }).stdout.trim();

export const hasNpx = npx !== "";

/**
 * The variables of a user who has Node and npm and nothing else, with an empty cache and no registry.
 *
 * @param folder - the user's own
 */
export async function bareNpm(folder: string): Promise<Record<string, string>> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await symlink(process.execPath, join(bin, "node"));
  await symlink(await realpath(npx), join(bin, "npx"));
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
