import { createHmac, randomBytes } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createFile } from "@roomhub/hub";

const secretForm = /^[\w-]{43}$/;

/**
 * The secret of one of this user's model servers, the same in every process: it is derived from one random secret in a file
 * that only this user can read. Shows a hub that participants stand in front of the same model server. Contract §1,
 * "Machines".
 *
 * @param path - of that file; created with its folder at the first use
 * @returns 43 characters of base64url; rejects when the file can neither be read nor created
 */
export async function machineSecret(path: string, baseUrl: string): Promise<string> {
  const key = (await readSecret(path)) ?? (await createSecret(path));
  return createHmac("sha256", key).update(baseUrl).digest("base64url");
}

async function createSecret(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const secret = randomBytes(32).toString("base64url");
  if (await createFile(path, secret, `${path}.`)) return secret;
  // Another process was faster.
  const other = await readSecret(path);
  if (other === undefined) throw new Error(`${path} cannot be created`);
  return other;
}

/** @returns undefined for a missing file */
async function readSecret(path: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (secretForm.test(text)) return text;
  throw new Error(`${path} does not contain a secret of 43 characters. Remove it.`);
}
