import { createHash, X509Certificate } from "node:crypto";
import type { HubOptions } from "@roomhub/hub";
import type { RunningHub } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { explained, UsageError } from "../exit-code.ts";
import { type HubConfig, isEphemeral } from "../hosting/hub-config.ts";
import { certificateFilesOf, followCertificate, readCertificate } from "./certificate-files.ts";

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
