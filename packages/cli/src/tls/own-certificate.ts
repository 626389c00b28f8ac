import type { CertificatePair } from "@roomhub/hub";
import { systemWorld } from "@roomhub/protocol";
import { madeOnce } from "../sharing/saved-secrets.ts";
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
export function certificateIn(path: string, names: readonly string[]): Promise<CertificatePair> {
  return madeOnce(path, {
    what: "a certificate and its key",
    make() {
      const { cert, key } = newCertificate(names);
      return cert + key;
    },
    read(text) {
      const [cert, key] = ["CERTIFICATE", "PRIVATE KEY"].map(
        (what) => new RegExp(`-----BEGIN ${what}-----[^-]+-----END ${what}-----\n`).exec(text)?.[0],
      );
      return cert === undefined || key === undefined ? undefined : { cert, key };
    },
  });
}
