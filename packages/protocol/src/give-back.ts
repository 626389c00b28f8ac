/** Shorter memory costs more to give back than to collect. */
const minBytes = 8 * 1024;

/**
 * Gives memory outside V8's heap back at once, which V8 would only do when it collects: for each 64 MB of it, V8 collects
 * everything.
 *
 * @param bytes - all of their memory, of which no other view is read any more; nothing is done with a part of a memory
 */
export function giveBack(bytes: Uint8Array): void {
  giveBackBehind(bytes, 0);
}

/**
 * The same for the bytes behind a head.
 *
 * @param mostHeadBytes - in front of them there may be so many others in their memory, which nothing reads either
 */
export function giveBackBehind(
  { buffer, byteLength, byteOffset }: Uint8Array,
  mostHeadBytes: number,
): void {
  const isRest = byteOffset <= mostHeadBytes && byteOffset + byteLength === buffer.byteLength;
  if (isRest && byteLength >= minBytes && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
