import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type CertificatePair, createFile } from "@roomhub/hub";
import { systemWorld } from "@roomhub/protocol";
import { makeCertificate } from "./make-certificate.ts";

const dayMs = 86_400_000;
/** Clients compare the key, not the dates; they are for tools that look at both. */
const lifeMs = 50 * 365 * dayMs;

/** @param names - host names and addresses */
export function newCertificate(names: readonly string[]): CertificatePair {
  const nowMs = systemWorld.wallMs();
  return makeCertificate({
    names: ["localhost", "127.0.0.1", "::1", ...names],
    // A client's clock may be behind.
    notBefore: new Date(nowMs - dayMs),
    notAfter: new Date(nowMs + lifeMs),
    serial: systemWorld.randomBytes(16),
  });
}

/**
 * The certificate in a file that only this user can read. Of several hubs that start at once, one makes it.
 *
 * @param path - created with its folder at the first use
 * @throws Error when the file can neither be read nor created, or has something else in it
 */
export async function certificateIn(
  path: string,
  names: readonly string[],
): Promise<CertificatePair> {
  const kept = await readPair(path);
  if (kept !== undefined) return kept;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const { cert, key } = newCertificate(names);
  if (await createFile(path, cert + key, `${path}.`, { flush: true })) return { cert, key };
  const other = await readPair(path);
  if (other === undefined) throw new Error(`${path} cannot be created`);
  return other;
}

async function readPair(path: string): Promise<CertificatePair | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const [cert, key] = ["CERTIFICATE", "PRIVATE KEY"].map(
    (what) => new RegExp(`-----BEGIN ${what}-----[^-]+-----END ${what}-----\n`).exec(text)?.[0],
  );
  if (cert === undefined || key === undefined)
    throw new Error(`${path} does not contain a certificate and its key. Remove it.`);
  return { cert, key };
}
