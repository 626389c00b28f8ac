import { open } from "node:fs/promises";
import { parseEnv } from "node:util";
import { UsageError } from "../exit-code.ts";
import { checkPrivate } from "./secrets-file.ts";

/** The variables of a file. @throws UsageError when it cannot be read, or others than its owner can read it */
export async function readSecrets(path: string): Promise<Record<string, string>> {
  // Mode and text of the same file, even if it is replaced in between.
  const file = await open(path).catch((error: Error) => {
    throw new UsageError(`The secrets file ${path} cannot be read: ${error.message}`);
  });
  try {
    checkPrivate(path, (await file.stat()).mode, process.platform);
    return parseEnv(await file.readFile("utf8")) as Record<string, string>;
  } finally {
    await file.close();
  }
}
