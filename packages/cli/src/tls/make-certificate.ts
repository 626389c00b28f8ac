import { generateKeyPairSync, sign } from "node:crypto";
import { isIPv4, isIPv6 } from "node:net";

export interface CertificateFacts {
  /** host names and addresses */
  names: readonly string[];
  notBefore: Date;
  notAfter: Date;
  /** 16 random bytes */
  serial: Uint8Array;
}

/**
 * A P-256 key and a certificate for it that it signs itself, as RFC 5280 has it.
 *
 * @returns both as PEM
 */
export function makeCertificate(facts: CertificateFacts): { cert: string; key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const body = bodyOf(facts, publicKey.export({ type: "spki", format: "der" }));
  const certificate = sequence(body, ecdsaWithSha256, bits(sign("sha256", body, privateKey)));
  return {
    cert: pem(certificate),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function bodyOf(
  { names, notBefore, notAfter, serial }: CertificateFacts,
  subjectKey: Buffer,
): Buffer {
  const name = sequence(tagged(0x31, sequence(oid(0x55, 0x04, 0x03), utf8("roomhub"))));
  return sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    // A serial number is positive and begins with no zero.
    integer(Buffer.from([0x01, ...serial.subarray(1)])),
    ecdsaWithSha256,
    name,
    sequence(time(notBefore), time(notAfter)),
    name,
    subjectKey,
    tagged(0xa3, sequence(...extensionsOf(names))),
  );
}

function extensionsOf(names: readonly string[]): Buffer[] {
  return [
    extension([0x13], true, sequence()), // basic constraints: no authority
    extension([0x0f], true, tagged(0x03, Buffer.of(7, 0x80))), // key usage: digital signatures
    extension([0x25], false, sequence(serverAuthentication)),
    extension([0x11], false, sequence(...names.map(alternativeName))),
  ];
}

/** @param arc - the last one of the identifier, below 2.5.29 */
function extension(arc: number[], isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [tagged(0x01, Buffer.of(0xff))] : [];
  return sequence(oid(0x55, 0x1d, ...arc), ...critical, tagged(0x04, value));
}

function alternativeName(name: string): Buffer {
  return isIPv4(name) || isIPv6(name)
    ? tagged(0x87, addressBytes(name))
    : tagged(0x82, Buffer.from(name, "latin1"));
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail] = address.split("::");
  const groups = (text = "") => (text === "" ? [] : text.split(":").map((it) => parseInt(it, 16)));
  const [first, last] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0);
  return Buffer.from([...first, ...zeros, ...last].flatMap((group) => [group >> 8, group & 0xff]));
}

/** Of the years that a certificate of ours spans, which RFC 5280 §4.1.2.5 has as UTCTime until 2049. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\..*$/g, "");
  const isShort = date.getUTCFullYear() < 2050;
  return tagged(isShort ? 0x17 : 0x18, Buffer.from(`${isShort ? digits.slice(2) : digits}Z`));
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text));
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function bits(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.from([0, ...bytes]));
}

/** @param bytes - the identifier as it is encoded */
function oid(...bytes: number[]): Buffer {
  return tagged(0x06, Buffer.from(bytes));
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

/** A value of DER: tag, length, content. ITU-T X.690 §8.1. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.from([tag, ...size, ...content]);
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

const ecdsaWithSha256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const serverAuthentication = oid(0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01);
