/** scrypt's parameters, RFC 7914 §2 */
export interface ScryptCost {
  N: number;
  r: number;
  p: number;
}

/** A room password's digest in its stored form. */
interface StoredDigest extends ScryptCost {
  /** base64url */
  salt: string;
  /** 32 bytes in base64url */
  hash: string;
}

/** A digest may come from another version, but checking it must not take minutes or gigabytes. */
const highestCost = { N: 2 ** 17, r: 16, p: 4 } as const;

const storedForm = /^scrypt\$(\d{1,7})\$(\d{1,3})\$(\d{1,3})\$([\w-]{16,86})\$([\w-]{43})$/;

/**
 * Parses `scrypt$N$r$p$salt$hash`. Shared, because the state file and the password check must accept the same digests.
 *
 * @returns undefined for another form, or for parameters that scrypt refuses or that cost too much
 */
export function parseStoredDigest(text: string): StoredDigest | undefined {
  const parts = storedForm.exec(text);
  if (parts === null) return undefined;
  const [N, r, p] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const isPowerOfTwo = N > 1 && (N & (N - 1)) === 0;
  // RFC 7914 §2: N is less than 2^(128 * r / 8).
  if (!isPowerOfTwo || r < 1 || p < 1 || N >= 2 ** (16 * r)) return undefined;
  if (N > highestCost.N || r > highestCost.r || p > highestCost.p) return undefined;
  return { N, r, p, salt: parts[4] ?? "", hash: parts[5] ?? "" };
}
