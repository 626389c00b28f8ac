import { shellWord } from "@roomhub/protocol";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CliContext } from "./context.ts";

/**
 * How to run this program again: `roomhub` where it is installed, `npx roomhub` in a checkout, and where `npx` got it from a
 * hub or a file, `npx -y` and that.
 *
 * @param moduleUrl - of a module of this program
 */
export function commandNameOf(moduleUrl: string): string {
  if (moduleUrl.endsWith(".ts")) return "npx roomhub";
  const [folder] = /^.*[\\/]_npx[\\/][0-9a-f]+(?=[\\/])/.exec(fileURLToPath(moduleUrl)) ?? [];
  if (folder === undefined) return "roomhub";
  const source = packageOfNpx(join(folder, "package.json"));
  return source === undefined ? "roomhub" : `npx -y ${shellWord(source)}`;
}

/** npm keeps what `npx` was given. */
function packageOfNpx(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const manifest = JSON.parse(readFileSync(path, "utf8")) as { _npx?: { packages?: unknown[] } };
  const [source] = manifest._npx?.packages ?? [];
  return typeof source === "string" ? source : undefined;
}

const calls =
  /(?<!npx )\broomhub (?=\[|--|(?:up|invite|join|participants?|service|leave|chat|launch|env|open|batch|models|alias|route|bench|top|monitor|events|usage|record|report|serve|rooms?|keys?|doctor|health|pins?|hubs|metrics|config|completion|help)\b)/g;

/**
 * Texts of hubs, the SDK and the help contain commands of an installed `roomhub`; in a checkout they get the prefix that
 * makes them run there.
 */
export function withCommandName({ commandName }: CliContext, text: string): string {
  return text.replaceAll(calls, `${commandName} `);
}
