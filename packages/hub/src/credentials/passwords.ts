import { createHmac, randomBytes as systemRandomBytes, timingSafeEqual } from "node:crypto";
import { digestPassword, matchesDigest, readPasswordDigest } from "./password-digest.ts";

/** scrypt runs at once. More would only queue in libuv's four threads and starve dns and files. */
const scryptsAtOnce = 2;

/**
 * Checks one room's password and cannot be printed.
 *
 * In memory there is a digest under a key that dies with the process, 2.5 µs a check; scrypt runs once for the disk.
 */
export interface PasswordVerifier {
  /**
   * Missing and wrong are the same answer.
   *
   * @param mayRun - asked when a slow check is about to begin, possibly long after the call; `false` skips it, and the
   *   answer is then `false`
   */
  verify(password: string | undefined, mayRun?: () => boolean): Promise<boolean>;
  /** What may be written to disk; the same text at every call. */
  toStored(): Promise<string>;
}

export interface PasswordKeeper {
  /** For a room being created. Starts the digest for the disk at once, so that the password need not be kept. */
  fromPassword(password: string): PasswordVerifier;
  /** For a room from disk. @throws TypeError when `digest` is malformed */
  fromStored(digest: string): PasswordVerifier;
}

export interface PasswordKeeperOptions {
  randomBytes?: ((size: number) => Uint8Array) | undefined;
}

/** One per hub: it owns the key of the digests in memory. */
export function createPasswordKeeper(options: PasswordKeeperOptions = {}): PasswordKeeper {
  const randomBytes = options.randomBytes ?? systemRandomBytes;
  const hasher = new KeyedHasher(randomBytes(32));
  const slots = new Slots(scryptsAtOnce);
  return {
    fromPassword(password) {
      const stored = slots.run(() => digestPassword(password, randomBytes));
      // Whoever calls toStored() gets the failure; when nobody does, it concerns nobody.
      stored.catch(() => {});
      return new FreshVerifier(hasher, hasher.digest(password), stored);
    },
    fromStored: (digest) => new StoredVerifier(hasher, slots, digest),
  };
}

class FreshVerifier implements PasswordVerifier {
  readonly #hasher: KeyedHasher;
  readonly #digest: Buffer;
  readonly #stored: Promise<string>;

  constructor(hasher: KeyedHasher, digest: Buffer, stored: Promise<string>) {
    this.#hasher = hasher;
    this.#digest = digest;
    this.#stored = stored;
  }

  async verify(password: string | undefined): Promise<boolean> {
    return this.#hasher.matches(password, this.#digest);
  }

  toStored(): Promise<string> {
    return this.#stored;
  }
}

/** Knows only scrypt until somebody gives the right password; from then on as quick as a fresh one. */
class StoredVerifier implements PasswordVerifier {
  readonly #hasher: KeyedHasher;
  readonly #slots: Slots;
  readonly #stored: string;
  readonly #storedDigest: ReturnType<typeof readPasswordDigest>;
  #digest: Buffer | undefined;
  #lastCheck: Promise<unknown> = Promise.resolve();

  constructor(hasher: KeyedHasher, slots: Slots, stored: string) {
    this.#hasher = hasher;
    this.#slots = slots;
    this.#stored = stored;
    this.#storedDigest = readPasswordDigest(stored);
  }

  async verify(password: string | undefined, mayRun: () => boolean = () => true): Promise<boolean> {
    if (password === undefined) return false;
    if (this.#digest !== undefined) return this.#hasher.matches(password, this.#digest);
    // One after the other: of a room's thousand returning participants the first runs scrypt, the others find its result.
    const check = this.#lastCheck.then(() => this.#verifyNext(password, mayRun));
    this.#lastCheck = check.catch(() => {}); // the caller of this check hears of it, the next one must not
    return check;
  }

  async #verifyNext(password: string, mayRun: () => boolean): Promise<boolean> {
    if (this.#digest !== undefined) return this.#hasher.matches(password, this.#digest);
    if (!mayRun()) return false;
    const isRight = await this.#slots.run(() => matchesDigest(password, this.#storedDigest));
    if (isRight) this.#digest = this.#hasher.digest(password);
    return isRight;
  }

  async toStored(): Promise<string> {
    return this.#stored;
  }
}

class KeyedHasher {
  readonly #key: Uint8Array;

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  digest(password: string): Buffer {
    return createHmac("sha256", this.#key).update(password, "utf8").digest();
  }

  /** Always one digest and one comparison of 32 bytes, also for a missing password. */
  matches(password: string | undefined, digest: Buffer): boolean {
    const isEqual = timingSafeEqual(this.digest(password ?? ""), digest);
    return isEqual && password !== undefined;
  }
}

/** Lets so many tasks run at once; the others wait in order. */
class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      // A waiting task takes this slot over, so that nobody who comes in between does.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
