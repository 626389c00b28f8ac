/** A longer beginning of base64's characters alone is no text in any language. */
const leastEncodedBytes = 512;
const dataUrl = Buffer.from("data:");
const isEncoding = new Uint8Array(256);
for (const byte of Buffer.from(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_\\",
)) {
  isEncoding[byte] = 1;
}

/**
 * Counts the bytes of strings that say nothing about tokens: `data:` URLs and base64. Only the beginning of a string is
 * looked at.
 */
export class EncodedStrings {
  /** in all strings so far */
  bytes = 0;
  #length = 0;
  #encodingBytes = 0;
  #isUrl = true;

  begin(): void {
    this.#length = 0;
    this.#encodingBytes = 0;
    this.#isUrl = true;
  }

  /** The next bytes of the string. */
  push(chunk: Buffer, from: number, to: number): void {
    for (let at = 0; this.#isUrl && at < to - from; at++) {
      const expected = dataUrl[this.#length + at];
      if (expected === undefined) break;
      this.#isUrl = chunk[from + at] === expected;
    }
    let index = from;
    // As long as there was nothing else.
    if (this.#encodingBytes === this.#length) {
      const last = Math.min(to, from + leastEncodedBytes - this.#length);
      while (index < last && isEncoding[chunk[index] as number] === 1) index++;
      this.#encodingBytes += Math.max(0, index - from);
    }
    this.#length += to - from;
  }

  end(): void {
    const isUrl = this.#isUrl && this.#length >= dataUrl.length;
    if (isUrl || this.#encodingBytes >= leastEncodedBytes) this.bytes += this.#length;
  }
}
