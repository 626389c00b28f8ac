import { createHmac, randomBytes } from "node:crypto";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Shows a hub that participants stand in front of the same model server. Contract §1, "Machines". */
export type MachineSecretOf = (baseUrl: string) => Promise<string>;

const secretForm = /^[\w-]{43}$/;

/**
 * Secrets of this user's model servers, one per base URL, the same in every process: each is derived from one random secret
 * in a file that only this user can read.
 *
 * @param path - of that file; created with its folder at the first use
 * @returns 43 characters of base64url; rejects when the file can neither be read nor created
 */
export function machineSecretsFrom(path: string): MachineSecretOf {
  let own: Promise<string> | undefined;
  return async (baseUrl) => {
    const key = await (own ??= readOrMint(path));
    return createHmac("sha256", key).update(baseUrl).digest("base64url");
  };
}

async function readOrMint(path: string): Promise<string> {
  const kept = await readSecret(path);
  if (kept !== undefined) return kept;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  const secret = randomBytes(32).toString("base64url");
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(secret);
    await file.sync();
    // Unlike a rename, a link never replaces the file of another process that was faster.
    await link(draft, path);
    return secret;
  } catch (error) {
    const other = await readSecret(path);
    if (other === undefined) throw error;
    return other;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
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
