import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "./temporary-folder.ts";

const withoutStartFiles = { bash: "--norc", zsh: "-f", fish: "--no-config" };

export type Shell = keyof typeof withoutStartFiles;

/** @returns why tests with this shell are skipped; undefined when it is installed */
export function missingShell(shell: Shell): string | undefined {
  const { error } = spawnSync(shell, ["-c", "exit 0"]);
  return error === undefined ? undefined : `${shell} is not installed`;
}

/**
 * Runs a script without any start-up files, in a folder of its own.
 *
 * @returns what it printed
 * @throws when it fails or complains
 */
export async function runInShell(shell: Shell, script: string): Promise<string> {
  await using folder = await temporaryFolder();
  // From a file, since fish 3.6 does not read a script from a socket.
  await writeFile(join(folder.path, "script"), script);
  const { status, stdout, stderr } = spawnSync(shell, [withoutStartFiles[shell], "script"], {
    cwd: folder.path,
    encoding: "utf8",
    timeout: 20_000,
  });
  if (status === 0 && stderr === "") return stdout;
  throw new Error(`${shell} ended with ${status}: ${stderr}${stdout}`);
}
