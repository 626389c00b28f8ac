import { createPrivateKey, X509Certificate } from "node:crypto";
import { expect, test } from "vitest";
import { makeCertificate } from "./make-certificate.ts";

const facts = {
  names: ["hub.example", "192.168.1.5", "2001:db8::a:1", "::1", "fe80::"],
  notBefore: new Date("2026-01-02T03:04:05Z"),
  notAfter: new Date("2056-01-02T03:04:05Z"),
  serial: Buffer.alloc(16, 0xab),
};

test("a certificate is one that OpenSSL reads: its names, its dates, its key", () => {
  const { cert, key } = makeCertificate(facts);
  const read = new X509Certificate(cert);
  expect(read.checkHost("hub.example")).toBe("hub.example");
  for (const address of facts.names.slice(1)) expect(read.checkIP(address)).toBe(address);
  expect(read.checkHost("other.example")).toBeUndefined();
  expect([read.validFromDate, read.validToDate]).toEqual([facts.notBefore, facts.notAfter]);
  expect(read.serialNumber).toBe(`01${"AB".repeat(15)}`);
  expect([read.ca, read.keyUsage]).toEqual([false, ["1.3.6.1.5.5.7.3.1"]]);
  expect(read.checkPrivateKey(createPrivateKey(key))).toBe(true);
  expect(createPrivateKey(key).asymmetricKeyDetails).toEqual({ namedCurve: "prime256v1" });
});

test("a certificate is signed with its own key", () => {
  const [one, other] = [makeCertificate(facts), makeCertificate(facts)].map(
    ({ cert }) => new X509Certificate(cert),
  );
  expect(one?.verify(one.publicKey)).toBe(true);
  expect(one?.verify(other!.publicKey)).toBe(false);
  expect(one?.subject).toBe(one?.issuer);
});

test("a certificate with many names is as readable as one with a single name", () => {
  for (const count of [1, 10, 200]) {
    const names = Array.from({ length: count }, (_, index) => `host-${index}.example`);
    const read = new X509Certificate(makeCertificate({ ...facts, names }).cert);
    expect(read.subjectAltName?.split(", ")).toHaveLength(count);
  }
});
