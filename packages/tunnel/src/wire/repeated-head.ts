import type { HeadedPayload } from "./message-head.ts";

/** Most heads are small; a larger one is not worth its memory. */
const maxKeptBytes = 2_048;

/**
 * Reads the heads that one side sends. Most are identical to the one before, byte for byte; then the same frozen object
 * is returned again.
 */
export class HeadReader<Head extends { headers: Record<string, string> }> {
  readonly #decode: (payload: Buffer, maxHeadBytes: number) => HeadedPayload<Head>;
  #last: { bytes: Buffer; head: Head; end: boolean } | undefined;

  /** @param decode - see {@link read} */
  constructor(decode: (payload: Buffer, maxHeadBytes: number) => HeadedPayload<Head>) {
    this.#decode = decode;
  }

  /** @throws {MalformedPayload} */
  read(payload: Buffer, maxHeadBytes: number): HeadedPayload<Head> {
    const last = this.#last;
    if (last !== undefined && beginsWith(payload, last.bytes)) {
      return { head: last.head, body: payload.subarray(4 + last.bytes.length), end: last.end };
    }
    const { head, body, end } = this.#decode(payload, maxHeadBytes);
    const bytes = payload.subarray(4, payload.length - body.length);
    if (bytes.length <= maxKeptBytes) {
      Object.freeze(head.headers);
      this.#last = { bytes: Buffer.from(bytes), head: Object.freeze(head), end };
    }
    return { head, body, end };
  }
}

/** @param payload - a head's length, the head, and more */
function beginsWith(payload: Buffer, head: Buffer): boolean {
  const { length } = head;
  return (
    payload.length >= 4 + length &&
    payload.readUInt32BE(0) === length &&
    payload.compare(head, 0, length, 4, 4 + length) === 0
  );
}

/** Writes the heads that this side sends: the same bytes again when the head has not changed. */
export class HeadWriter<Head extends { headers: Record<string, string> }> {
  readonly #encode: (head: Head, end: boolean) => string;
  #last: { bytes: Buffer; head: Head; end: boolean } | undefined;

  constructor(encode: (head: Head, end: boolean) => string) {
    this.#encode = encode;
  }

  /** @param head - must not change afterwards */
  write(head: Head, end: boolean): Buffer {
    const last = this.#last;
    if (last !== undefined && last.end === end && isSameHead(last.head, head)) return last.bytes;
    const bytes = Buffer.from(this.#encode(head, end));
    if (bytes.length <= maxKeptBytes) this.#last = { bytes, head, end };
    return bytes;
  }
}

function isSameHead<Head extends { headers: Record<string, string> }>(
  one: Head,
  other: Head,
): boolean {
  for (const key in one) {
    if (key !== "headers" && one[key] !== other[key]) return false;
  }
  // An optional field of the other alone.
  for (const key in other) if (!(key in one)) return false;
  return one.headers === other.headers || areSameHeaders(one.headers, other.headers);
}

function areSameHeaders(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  let count = 0;
  for (const name in one) {
    if (one[name] !== other[name]) return false;
    count++;
  }
  for (const _name in other) count--;
  return count === 0;
}
