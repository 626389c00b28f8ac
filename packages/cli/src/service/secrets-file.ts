import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseEnv } from "node:util";
import type { CliContext } from "../context.ts";
import { readable, UsageError } from "../exit-code.ts";

/** Beside the state files of this user's hubs. */
export async function secretsPath(context: CliContext, name: string): Promise<string> {
  return join(dirname(await context.usualStatePath(0)), "services", `${name}.env`);
}

/**
 * Variables as `NAME='value'` lines, in the form that `util.parseEnv` of Node reads.
 *
 * @throws UsageError when a value has no form in it, without the value
 */
export function secretsText(name: string, variables: Readonly<Record<string, string>>): string {
  const lines = Object.entries(variables).map(
    ([variable, value]) => `${variable}=${quotedValue(variable, value)}\n`,
  );
  return `# Variables of the roomhub service ${name}, which it reads when it starts.\n${lines.join("")}`;
}

/** Node ends a quoted value at the next mark of the same kind, and has no escape for it. */
function quotedValue(variable: string, value: string): string {
  const mark = ["'", '"', "`"].find(
    (one) => !value.includes(one) && !(one === '"' && value.includes(String.raw`\n`)),
  );
  if (mark === undefined || /[\r\n\0]/.test(value)) {
    throw new UsageError(
      `The value of ${variable} has all three kinds of quotation marks, or more than one line, so it cannot be kept for a service`,
    );
  }
  return `${mark}${value}${mark}`;
}

/** The variables of a file. @throws UsageError when it cannot be read, or other users can read it */
export async function readSecrets(path: string): Promise<Record<string, string>> {
  // Opened once, so that mode and text are of the same file even if it is replaced meanwhile.
  const file = await readable(`The secrets file ${path}`, open(path));
  try {
    checkPrivate(path, (await file.stat()).mode, process.platform);
    return parseEnv(await file.readFile("utf8")) as Record<string, string>;
  } finally {
    await file.close();
  }
}

/** @throws UsageError when other users can read or write the file */
function checkPrivate(path: string, mode: number, platform: string): void {
  // Windows has no mode: a file below the user's profile is that user's alone.
  if (platform === "win32" || (mode & 0o077) === 0) return;
  const text = (mode & 0o777).toString(8).padStart(3, "0");
  throw new UsageError(
    `The secrets file ${path} is not yours alone (its mode is ${text}). Run: chmod 600 ${path}`,
  );
}
