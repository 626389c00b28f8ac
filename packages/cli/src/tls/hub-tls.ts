import type { HubOptions } from "@roomhub/hub";
import type { RunningHub } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";
import type { HubConfig } from "../hosting/hub-config.ts";
import { certificateFilesOf, followCertificate, readCertificate } from "./certificate-files.ts";

/** How a hub that is started here serves HTTPS. */
export interface LaunchedTls {
  options: NonNullable<HubOptions["tls"]>;
  /** host names of the certificate that are no patterns */
  names: string[];
  /** Whether clients that know an address of this machine may use it with HTTPS. */
  isFor(address: string): boolean;
  /** Keeps the hub's certificate as it is in the files. @returns how to stop */
  follow(hub: Pick<RunningHub, "replaceCertificate">): () => void;
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
  if (files === undefined) {
    if (!only) return undefined;
    throw new UsageError("--tls-only needs a certificate: --tls-cert FILE --tls-key FILE");
  }
  const certificate = await readCertificate(context, files);
  const { facts } = certificate;
  return {
    options: { ...certificate.pair, only },
    names: namesOf(facts.subjectAltName),
    isFor: (address) => only || facts.checkIP(address) !== undefined,
    follow: (hub) =>
      followCertificate(context, files, certificate, ({ pair }) => hub.replaceCertificate(pair)),
  };
}

/** @param text - as Node lists them: `DNS:hub.example.org, IP Address:10.0.0.7` */
function namesOf(text = ""): string[] {
  const names = text.split(", ").flatMap((entry) => /^DNS:([\w.-]+)$/.exec(entry)?.[1] ?? []);
  return names.filter((name) => name !== "localhost");
}
