/** A member that a reader has subscribed to. */
export interface WantedKey {
  readonly key: string;
  /** the longest value of it that is kept, in bytes; 0 when its presence is all that counts */
  readonly maxKeptBytes: number;
}

/** Keys that are looked for in JSON, found by their bytes: to make a text of each key costs more than to read a body. */
export class WantedKeys {
  readonly #byLength: (WantedKey & { bytes: Buffer })[][] = [];
  readonly #byName = new Map<string, WantedKey>();

  /** @param keys - each at most 40 characters, none with a backslash or a quote */
  constructor(keys: Iterable<WantedKey>) {
    for (const wanted of keys) {
      const bytes = Buffer.from(wanted.key);
      (this.#byLength[bytes.length] ??= []).push({ ...wanted, bytes });
      this.#byName.set(wanted.key, wanted);
    }
  }

  /** A key as it stands between its quotes in a text, without escapes. */
  find(text: Buffer, start: number, end: number): WantedKey | undefined {
    return this.#byLength[end - start]?.find(({ bytes }) => standsAt(text, start, bytes));
  }

  named(key: string): WantedKey | undefined {
    return this.#byName.get(key);
  }
}

function standsAt(text: Buffer, at: number, bytes: Buffer): boolean {
  for (let index = 0; index < bytes.length; index++) {
    if (text[at + index] !== bytes[index]) return false;
  }
  return true;
}

/** @param maxKeptBytes - see {@link WantedKey} */
export function wantedKeys(keys: readonly string[], maxKeptBytes: number): WantedKey[] {
  return keys.map((key) => ({ key, maxKeptBytes }));
}
