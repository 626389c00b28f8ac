import { scrypt, timingSafeEqual } from "node:crypto";

/** scrypt's parameters: about 86 ms and 32 MiB a run. */
const cost = { N: 2 ** 15, r: 8, p: 1 } as const;
const saltBytes = 16;
const hashBytes = 32;
/** A digest from disk may be older or newer than this program, but must not cost minutes or gigabytes. */
const highestCost = { N: 2 ** 17, r: 16, p: 4 } as const;

const storedForm = /^scrypt\$(\d{1,7})\$(\d{1,3})\$(\d{1,3})\$([\w-]{16,86})\$([\w-]{43})$/;

interface PasswordDigest {
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

/** @throws TypeError when `stored` is not the form {@link digestPassword} writes; it is not repeated in the message */
export function readPasswordDigest(stored: string): PasswordDigest {
  const parts = storedForm.exec(stored);
  if (parts === null) throw new TypeError("not a stored password digest");
  const [N, r, p] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const isPowerOfTwo = N > 1 && (N & (N - 1)) === 0;
  if (!isPowerOfTwo || r < 1 || p < 1) throw new TypeError("a password digest with odd parameters");
  if (N > highestCost.N || r > highestCost.r || p > highestCost.p) {
    throw new TypeError("a password digest that costs too much to check");
  }
  const salt = Buffer.from(parts[4] ?? "", "base64url");
  const hash = Buffer.from(parts[5] ?? "", "base64url");
  return { N, r, p, salt, hash };
}

export async function matchesDigest(password: string, digest: PasswordDigest): Promise<boolean> {
  return timingSafeEqual(await runScrypt(password, digest.salt, digest), digest.hash);
}

function runScrypt(
  password: string,
  salt: Buffer,
  { N, r, p }: { N: number; r: number; p: number },
): Promise<Buffer> {
  // Node's own ceiling is exactly what N=2^15, r=8 needs and refuses it.
  const maxmem = 256 * N * r;
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
