import { isDigit } from "./json-number.ts";

const quote = 0x22;
const backslash = 0x5c;

/** Most strings end sooner; a call of native code costs as much as to look at so many bytes. */
const nearBytes = 32;

/** Where the next quote is; the end of the chunk when there is none. */
export function nextQuote(chunk: Buffer, from: number): number {
  const { length } = chunk;
  const nearEnd = Math.min(length, from + nearBytes);
  let index = from;
  while (index < nearEnd && chunk[index] !== quote) index++;
  if (index < nearEnd || index === length) return index;
  const found = chunk.indexOf(quote, index);
  return found === -1 ? length : found;
}

/**
 * Whether the byte at `at` is escaped: an odd number of backslashes stands before it.
 *
 * @param from - where a byte of the string stands that is not escaped
 */
export function isEscapedAt(chunk: Buffer, from: number, at: number): boolean {
  let index = at;
  while (index > from && chunk[index - 1] === backslash) index--;
  return ((at - index) & 1) === 1;
}

/** Where plain characters of a string end: at a quote, a backslash or a control character, or at the end of the chunk. */
export function endOfPlain(chunk: Buffer, from: number): number {
  const { length } = chunk;
  let index = from;
  for (; index < length; index++) {
    const byte = chunk[index] as number;
    if (byte < 0x20 || byte === quote || byte === backslash) break;
  }
  return index;
}

/** What may follow a backslash, but for `u`. */
export function isSimpleEscape(byte: number): boolean {
  return (
    byte === 0x22 || // "
    byte === 0x5c || // \
    byte === 0x2f || // /
    byte === 0x62 || // b
    byte === 0x66 || // f
    byte === 0x6e || // n
    byte === 0x72 || // r
    byte === 0x74 // t
  );
}

export function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}
