/** @param chunk - that is not read any more */
export function giveBackChunk({ buffer, byteLength }: Buffer): void {
  // A small chunk is a part of memory that others have parts of.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
