import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Program, startProgram } from "./program.ts";

const launcher = fileURLToPath(new URL("../../../packages/cli/bin/roomhub.js", import.meta.url));

/** Why tests that need a terminal are skipped; undefined where util-linux has a program that makes one. */
export const missingTerminal: string | undefined = String(
  spawnSync("script", ["--version"]).stdout ?? "",
).includes("util-linux")
  ? undefined
  : "script of util-linux is not installed";

/**
 * The command in a terminal of 80 × 24. After its end, the output continues with `exit` and its code, and with the settings
 * of the terminal as `stty -a` shows them.
 *
 * @param args - words that a shell does not change
 */
export function startInTerminal(
  args: readonly string[],
  env: Record<string, string> = {},
): Program {
  const command = [process.execPath, launcher, ...args].join(" ");
  const line = `stty cols 80 rows 24; ${command}; echo exit $?; stty -a`;
  const variables = { TERM: "xterm-256color", NO_COLOR: "", ...env };
  return startProgram("script", ["-qefc", line, "/dev/null"], variables, "pipe");
}
