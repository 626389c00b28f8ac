import type { World } from "@roomhub/protocol";
import { createHmac, timingSafeEqual, scrypt } from "node:crypto";
import { parseStoredDigest, type ScryptCost } from "../stored-digest.ts";

/**
 * One room's password as the hub keeps it. It cannot be printed.
 *
 * In memory there is a digest under a key that ends with the process: 2.5 µs a check. A room from disk has only
 * scrypt's digest until the right password was given once.
 */
export interface RoomPassword {
  /** What may be written to disk. */
  readonly stored: string;
  /** undefined as long as only {@link slowly} can decide */
  quickly(password: string): boolean | undefined;
  /** Takes some 90 ms of a core. */
  slowly(password: string): Promise<boolean>;
}

export interface PasswordKeeper {
  /** For a room being created. Resolves when its digest for the disk is made, one room after the other. */
  fromPassword(password: string): Promise<RoomPassword>;
  /** For a room from disk. @throws TypeError when `digest` is malformed */
  fromStored(digest: string): RoomPassword;
}

/** One per hub: it owns the key of the digests in memory. */
export function createPasswordKeeper(world: World): PasswordKeeper {
  const key = world.randomBytes(32);
  // Several at once would fill libuv's four threads, which checks, files and name lookups need too.
  let lastDigest: Promise<unknown> = Promise.resolve();
  return {
    async fromPassword(password) {
      const digest = keyedDigest(key, password);
      const stored = lastDigest.then(() => digestPassword(password, world));
      lastDigest = stored.catch(() => {}); // the creation of this room fails by it, not the next one
      return new KeptPassword(key, await stored, digest);
    },
    fromStored: (stored) => new KeptPassword(key, stored, undefined),
  };
}

class KeptPassword implements RoomPassword {
  readonly #key: Uint8Array;
  readonly #stored: string;
  readonly #storedDigest: ReturnType<typeof readPasswordDigest>;
  #digest: Buffer | undefined;

  constructor(key: Uint8Array, stored: string, digest: Buffer | undefined) {
    this.#key = key;
    this.#stored = stored;
    this.#storedDigest = readPasswordDigest(stored);
    this.#digest = digest;
  }

  get stored(): string {
    return this.#stored;
  }

  quickly(password: string): boolean | undefined {
    if (this.#digest === undefined) return undefined;
    return timingSafeEqual(keyedDigest(this.#key, password), this.#digest);
  }

  async slowly(password: string): Promise<boolean> {
    const isRight = await matchesDigest(password, this.#storedDigest);
    if (isRight) this.#digest = keyedDigest(this.#key, password);
    return isRight;
  }
}

function keyedDigest(key: Uint8Array, password: string): Buffer {
  return createHmac("sha256", key).update(password, "utf8").digest();
}

/** scrypt's parameters: about 86 ms and 32 MiB a run. */
const cost = { N: 2 ** 15, r: 8, p: 1 } as const;
const saltBytes = 16;
const hashBytes = 32;

interface ReadyDigest extends ScryptCost {
  salt: Buffer;
  hash: Buffer;
}

/** @returns `scrypt$N$r$p$salt$hash`, salt and hash in base64url: what may be written to disk */
async function digestPassword(password: string, world: World): Promise<string> {
  const salt = Buffer.from(world.randomBytes(saltBytes));
  const hash = await runScrypt(password, salt, cost);
  return ["scrypt", cost.N, cost.r, cost.p, base64url(salt), base64url(hash)].join("$");
}

/** @throws TypeError when `stored` is not a digest that can be checked; it is not repeated in the message */
function readPasswordDigest(stored: string): ReadyDigest {
  const digest = parseStoredDigest(stored);
  if (digest === undefined) throw new TypeError("not a password digest that can be checked");
  const salt = Buffer.from(digest.salt, "base64url");
  const hash = Buffer.from(digest.hash, "base64url");
  return { ...digest, salt, hash };
}

async function matchesDigest(password: string, digest: ReadyDigest): Promise<boolean> {
  return timingSafeEqual(await runScrypt(password, digest.salt, digest), digest.hash);
}

function runScrypt(password: string, salt: Buffer, { N, r, p }: ScryptCost): Promise<Buffer> {
  // OpenSSL's own count, to the byte. Node's default is a little less than N=2^15, r=8 needs.
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
