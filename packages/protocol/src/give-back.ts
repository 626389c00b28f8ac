/** Shorter memory costs more to give back than to collect. */
const minBytes = 8 * 1024;

/**
 * Gives memory outside V8's heap back at once, which V8 would only do when it collects: for each 64 MB of it, V8 collects
 * everything.
 *
 * @param bytes - all of their memory, of which no other view is read any more; nothing is done with a part of a memory
 */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  const isWhole = buffer.byteLength === byteLength && byteLength >= minBytes;
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
