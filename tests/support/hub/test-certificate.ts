import { createHash, X509Certificate } from "node:crypto";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { makeCertificate } from "../../../packages/cli/src/tls/make-certificate.ts";

export type TestCertificate = ReturnType<typeof makeCertificate>;

const dayMs = 86_400_000;

/** A certificate for this machine, valid now, unless `facts` say otherwise. */
export function testCertificate(
  facts: Partial<Parameters<typeof makeCertificate>[0]> = {},
): TestCertificate {
  return makeCertificate({
    names: ["localhost", "127.0.0.1", "::1"],
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + dayMs),
    serial: crypto.getRandomValues(new Uint8Array(16)),
    ...facts,
  });
}

/**
 * Every client in this process trusts these certificates from now on, too, and none that a test before made: of several with
 * one subject OpenSSL looks at the first.
 */
export function trust(...certificates: TestCertificate[]): void {
  const usual = [...getCACertificates("bundled"), ...getCACertificates("extra")];
  setDefaultCACertificates([...usual, ...certificates.map(({ cert }) => cert)]);
}

/** What an invite pins: the SHA-256 of the public key. */
export function pinOf({ cert }: TestCertificate): string {
  const key = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
  return `sha256-${createHash("sha256").update(key).digest("base64url")}`;
}
