import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { NODE_PACKAGES, platformName } from "./platform.ts";

/**
 * The Node that executables are made of. Installed on first use, since it is larger than everything else that a checkout
 * needs.
 *
 * @param root - of the workspace
 * @throws Error when there is none for this machine, or it cannot be installed
 */
export function nodeProgram(root: string): string {
  const name = NODE_PACKAGES[platformName(process)];
  if (name === undefined) {
    throw new Error(`no executable can be built for ${platformName(process)}`);
  }
  const isWindows = process.platform === "win32";
  const place = join(root, "scripts", "binary", "node");
  const program = join(place, "node_modules", name, "bin", isWindows ? "node.exe" : "node");
  if (existsSync(program)) return program;
  execFileSync("npm", ["ci", "--prefer-offline", "--ignore-scripts", "--loglevel=error"], {
    cwd: place,
    stdio: ["ignore", 2, 2],
    shell: isWindows,
  });
  return program;
}
