import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import type { HubOptions } from "@roomhub/hub";
import type { RunningHub } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { CommandError, explained, UsageError } from "../exit-code.ts";
import { type HubConfig, isEphemeral } from "../hosting/hub-config.ts";
import { reasonOf, safe } from "../terminal/text.ts";

/** How a hub that is started here serves HTTPS. */
export interface LaunchedTls {
  options: NonNullable<HubOptions["tls"]>;
  /** of the certificate that the hub begins with */
  pin: string;
  /** host names of the certificate that are no patterns */
  names: string[];
  /** Whether clients that know an address of this machine may use it with HTTPS. */
  isFor(address: string): boolean;
  /**
   * Keeps the hub's certificate as it is in the files.
   *
   * @param onPin - called with the pin of each one
   * @returns how to stop
   */
  follow(hub: Pick<RunningHub, "replaceCertificate">, onPin: (pin: string) => void): () => void;
}

/**
 * @returns undefined for a hub that serves plain HTTP only
 * @throws CommandError, UsageError
 */
export async function prepareTls(
  context: CliContext,
  { settings }: Pick<HubConfig, "settings">,
): Promise<LaunchedTls | undefined> {
  const only = settings.tlsOnly.value === true;
  const files = certificateFilesOf(settings.tlsCert.value, settings.tlsKey.value);
  if (files === undefined) return sealed(context, { settings }, only);
  const certificate = await readCertificate(context, files);
  const { facts } = certificate;
  return {
    options: { ...certificate.pair, only },
    pin: pinOf(facts),
    names: namesOf(facts.subjectAltName),
    isFor: (address) => only || facts.checkIP(address) !== undefined,
    follow: (hub, onPin) =>
      followCertificate(context, files, certificate, (next) => {
        hub.replaceCertificate(next.pair);
        onPin(pinOf(next.facts));
      }),
  };
}

/** With a certificate that the hub signs itself: invites say its key, in place of an authority. */
async function sealed(
  context: CliContext,
  config: Pick<HubConfig, "settings">,
  only: boolean,
): Promise<LaunchedTls | undefined> {
  if (config.settings.tls.value !== true) {
    if (!only) return undefined;
    throw new UsageError("--tls-only needs a certificate: --tls, or --tls-cert and --tls-key");
  }
  const pair = await explained(
    "The certificate of this user's hubs cannot be used",
    "name another: --tls-cert FILE --tls-key FILE",
    context.ownCertificate([context.hostName], isEphemeral(config)),
  );
  const pin = pinOf(new X509Certificate(pair.cert));
  const [names, isFor, follow] = [[], () => only, () => () => {}];
  return { options: { ...pair, pin, only }, pin, names, isFor, follow };
}

/** What invites pin: the SHA-256 of the public key, in base64url. */
export function pinOf({ publicKey }: X509Certificate): string {
  const key = publicKey.export({ type: "spki", format: "der" });
  return `sha256-${createHash("sha256").update(key).digest("base64url")}`;
}

/** @param text - as Node lists them: `DNS:hub.example.org, IP Address:10.0.0.7` */
function namesOf(text = ""): string[] {
  const names = text.split(", ").flatMap((entry) => /^DNS:([\w.-]+)$/.exec(entry)?.[1] ?? []);
  return names.filter((name) => name !== "localhost");
}

interface CertificateFiles {
  cert: string;
  key: string;
}

/** A certificate with its chain, and its key, as PEM; and what the certificate says. */
interface Certificate {
  pair: { cert: string; key: string };
  facts: X509Certificate;
}

/** @throws CommandError when a file cannot be used, or the key does not belong to the certificate */
async function readCertificate(context: CliContext, files: CertificateFiles): Promise<Certificate> {
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
function followCertificate(
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
function certificateFilesOf(
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
