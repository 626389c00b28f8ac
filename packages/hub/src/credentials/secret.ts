import { inspect } from "node:util";
import { createHmac, hkdfSync } from "node:crypto";

const redacted = "[redacted]";

/**
 * A text that must not leave by accident: printed, logged, interpolated or serialised it is `[redacted]`.
 * Code that needs it calls `reveal()`, so every use can be found by that word.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [inspect.custom](): string {
    return redacted;
  }
}

/**
 * A fingerprint of a value that must not be shown or kept: the first 8 bytes of its HMAC-SHA-256, as 16 hex digits. Only
 * this process can make it.
 *
 * @param purpose - fingerprints of the same value for different purposes have nothing in common
 */
type KeyedHash = (purpose: string, value: string) => string;

/** @param key - 32 bytes */
export function createKeyedHash(key: Uint8Array): KeyedHash {
  return (purpose, value) =>
    createHmac("sha256", key).update(`${purpose}\0${value}`).digest("hex").slice(0, 16);
}

/** The key of fingerprints that mean the same at all hubs of a cluster. */
export function fingerprintKey(secret: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "", "roomhub fingerprints v1", 32));
}
