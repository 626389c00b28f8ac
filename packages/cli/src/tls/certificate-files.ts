import { createPrivateKey, X509Certificate } from "node:crypto";
import type { CliContext } from "../context.ts";
import { CommandError, explained, UsageError } from "../exit-code.ts";
import { reasonOf, safe } from "../terminal/text.ts";

export interface CertificateFiles {
  cert: string;
  key: string;
}

/** A certificate with its chain, and its key, as PEM; and what the certificate says. */
export interface Certificate {
  pair: { cert: string; key: string };
  facts: X509Certificate;
}

/** @throws CommandError when a file cannot be used, or the key does not belong to the certificate */
export async function readCertificate(
  context: CliContext,
  files: CertificateFiles,
): Promise<Certificate> {
  const [cert, key] = await Promise.all([
    readPem(context, files.cert, "certificate"),
    readPem(context, files.key, "key"),
  ]);
  const facts = parsed(files.cert, "certificate with its chain", () => new X509Certificate(cert));
  const secret = parsed(files.key, "key without a passphrase", () => createPrivateKey(key));
  if (!facts.checkPrivateKey(secret)) {
    throw new CommandError(
      `The key in ${safe(files.key)} does not belong to the certificate in ${safe(files.cert)}`,
      "name the two files that were made together; the server's certificate comes first in its file",
    );
  }
  return { pair: { cert, key }, facts };
}

/** Renewed certificates are read from files that a program may replace one after the other. */
const checkMs = 10_000;

/**
 * Reads the files from time to time, and calls back with each pair that is new and matches.
 *
 * @param used - the pair that is in use
 * @returns how to stop
 */
export function followCertificate(
  context: CliContext,
  files: CertificateFiles,
  used: Certificate,
  take: (certificate: Certificate) => void,
): () => void {
  const { world, stderr } = context;
  let current = used;
  let said: string | undefined;
  const check = async (): Promise<void> => {
    try {
      const read = await readCertificate(context, files);
      said = undefined;
      if (read.pair.cert === current.pair.cert && read.pair.key === current.pair.key) return;
      take(read);
      current = read;
      stderr.write(`The certificate was replaced; it is valid until ${read.facts.validTo}\n`);
    } catch (error) {
      const problem = reasonOf(error);
      // A renewal that is only half done looks the same, so the problem is reported when it is there twice in a row.
      if (said === undefined) said = "";
      else if (said !== problem) {
        said = problem;
        stderr.write(`! The certificate in use is kept: ${safe(problem)}\n`);
      }
    }
  };
  const timer = world.unref(world.setInterval(() => void check(), checkMs));
  return () => world.clearInterval(timer);
}

/** @throws UsageError when only one of the two flags is given */
export function certificateFilesOf(
  cert: string | undefined,
  key: string | undefined,
): CertificateFiles | undefined {
  if (cert !== undefined && key !== undefined) return { cert, key };
  if (cert === undefined && key === undefined) return undefined;
  throw new UsageError("--tls-cert and --tls-key need each other: a certificate and its key");
}

function readPem(context: CliContext, path: string, what: string): Promise<string> {
  return explained(
    `The ${what} ${safe(path)} cannot be read`,
    "name a PEM file that this user can read: --tls-cert FILE --tls-key FILE",
    context.readFile(path),
  );
}

function parsed<T>(path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new CommandError(
      `${safe(path)} does not contain a ${what} in PEM`,
      "name a PEM file, which begins with -----BEGIN",
    );
  }
}
