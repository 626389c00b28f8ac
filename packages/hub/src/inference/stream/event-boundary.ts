const lf = 0x0a;
const cr = 0x0d;

/**
 * Where the last whole server-sent event of `bytes` ends: the offset behind its blank line, 0 when there is none.
 * Lines end with LF, CRLF or CR (WHATWG HTML §9.2.5).
 *
 * @param searched - so many bytes at the front are known to hold no end
 */
export function lastEventEnd(bytes: Buffer, searched: number): number {
  const length = bytes.length;
  // Nearly every chunk is whole events.
  if (length >= 2 && bytes[length - 1] === lf && bytes[length - 2] === lf) return length;
  const first = Math.max(1, searched);
  for (let index = length - 1; index >= first; index--) {
    const byte = bytes[index];
    if (byte !== lf && byte !== cr) continue;
    const before = bytes[index - 1];
    if (byte === lf && before === lf) return index + 1;
    if (byte === lf && before === cr && index > 1) {
      const secondBefore = bytes[index - 2];
      if (secondBefore === lf || secondBefore === cr) return index + 1;
    }
    if (byte === cr && before === cr) return index + 1;
  }
  return 0;
}

/** Two line ends with nothing between, in text where no character can pass for one (Latin-1). */
export const blankLine = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)/g;

/** Where the first whole event of `bytes` ends: the offset behind its blank line, 0 when there is none. */
export function firstEventEnd(bytes: Buffer): number {
  for (const match of bytes.toString("latin1").matchAll(blankLine)) {
    return match.index + match[0].length;
  }
  return 0;
}
