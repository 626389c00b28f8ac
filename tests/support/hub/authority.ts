import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestCertificate, trust } from "./test-certificate.ts";

/** With the authority's own certificate, in PEM. */
type SignedCertificate = TestCertificate & { ca: string };

let signed: SignedCertificate | undefined;

/**
 * A certificate for this machine that an authority has signed, which every client in this process trusts. OpenSSL makes both
 * once: it costs a tenth of a second.
 */
export function certificateOfAuthority(): SignedCertificate {
  if (signed !== undefined) return signed;
  const folder = mkdtempSync(join(tmpdir(), "roomhub-authority-"));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const key = (name: string) => [...newKey, "-keyout", at(name)];
  try {
    openssl(
      ...["req", "-x509", ...key("ca.key"), "-out", at("ca.pem"), "-days", "2"],
      ...["-subj", "/CN=Authority of tests"],
      // Python requires it from 3.13 on.
      ...["-addext", "keyUsage=critical,keyCertSign"],
    );
    openssl("req", ...key("hub.key"), "-out", at("hub.csr"), "-subj", "/CN=hub of tests");
    writeFileSync(at("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\n");
    openssl(
      ...["x509", "-req", "-in", at("hub.csr"), "-CA", at("ca.pem"), "-CAkey", at("ca.key")],
      ...["-days", "2", "-extfile", at("names"), "-out", at("hub.pem")],
    );
    const read = (name: string) => readFileSync(at(name), "utf8");
    const ca = read("ca.pem");
    trust({ cert: ca, key: "" });
    return (signed = { cert: read("hub.pem"), key: read("hub.key"), ca });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
