import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * How to run this program again: `roomhub` where it is installed, `npx roomhub` in a checkout, and where `npx` got it from a
 * hub or a file, `npx -y` and that.
 *
 * @param moduleUrl - of a module of this program
 */
export async function commandNameOf(moduleUrl: string): Promise<string> {
  if (moduleUrl.endsWith(".ts")) return "npx roomhub";
  const [folder] = /^.*[\\/]_npx[\\/][0-9a-f]+(?=[\\/])/.exec(fileURLToPath(moduleUrl)) ?? [];
  if (folder === undefined) return "roomhub";
  const source = packageOfNpx(join(folder, "package.json"));
  if (source === undefined) return "roomhub";
  // Loaded here, since help is printed without it.
  const { shellWord } = await import("@roomhub/protocol");
  return `npx -y ${shellWord(source)}`;
}

/** npm keeps what `npx` was given. */
function packageOfNpx(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const manifest = JSON.parse(readFileSync(path, "utf8")) as { _npx?: { packages?: unknown[] } };
  const [source] = manifest._npx?.packages ?? [];
  return typeof source === "string" ? source : undefined;
}
