import { scrypt, timingSafeEqual } from "node:crypto";
import { parseStoredDigest } from "../stored-digest.ts";

/** scrypt's parameters: about 86 ms and 32 MiB a run. */
const cost = { N: 2 ** 15, r: 8, p: 1 } as const;
const saltBytes = 16;
const hashBytes = 32;

interface ReadyDigest {
  N: number;
  r: number;
  p: number;
  salt: Buffer;
  hash: Buffer;
}

/** @returns `scrypt$N$r$p$salt$hash`, salt and hash in base64url: what may be written to disk */
export async function digestPassword(
  password: string,
  randomBytes: (size: number) => Uint8Array,
): Promise<string> {
  const salt = Buffer.from(randomBytes(saltBytes));
  const hash = await runScrypt(password, salt, cost);
  return ["scrypt", cost.N, cost.r, cost.p, base64url(salt), base64url(hash)].join("$");
}

/** @throws TypeError when `stored` is not a digest that can be checked; it is not repeated in the message */
export function readPasswordDigest(stored: string): ReadyDigest {
  const digest = parseStoredDigest(stored);
  if (digest === undefined) throw new TypeError("not a password digest that can be checked");
  const salt = Buffer.from(digest.salt, "base64url");
  const hash = Buffer.from(digest.hash, "base64url");
  return { ...digest, salt, hash };
}

export async function matchesDigest(password: string, digest: ReadyDigest): Promise<boolean> {
  return timingSafeEqual(await runScrypt(password, digest.salt, digest), digest.hash);
}

function runScrypt(
  password: string,
  salt: Buffer,
  { N, r, p }: { N: number; r: number; p: number },
): Promise<Buffer> {
  // What OpenSSL counts, to the byte; Node's own ceiling is a little less than N=2^15, r=8 needs.
  const maxmem = 128 * r * (N + p + 2);
  return new Promise((resolve, reject) => {
    scrypt(password, salt, hashBytes, { N, r, p, maxmem }, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });
}

function base64url(bytes: Buffer): string {
  return bytes.toString("base64url");
}
