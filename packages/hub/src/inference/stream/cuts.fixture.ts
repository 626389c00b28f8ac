/** The same bytes in two pieces, at every place, and byte by byte. */
export function* everyCut(bytes: Buffer): Iterable<Buffer[]> {
  yield [bytes];
  for (let at = 1; at < bytes.length; at++) yield [bytes.subarray(0, at), bytes.subarray(at)];
  yield [...bytes].map((byte) => Buffer.of(byte));
}

/** The same bytes cut after each of these lengths, over and over. */
export function cutBy(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? bytes.length;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}
