import type { FileHandle } from "node:fs/promises";

/** A line while it is read. */
interface ReadLine {
  /** without its end; valid only during the call; undefined for a line that is too long */
  bytes: Buffer | undefined;
  /** of its first byte in the file */
  offset: number;
  /** false for a last line that no line feed ends */
  isEnded: boolean;
}

export interface LineReading {
  maxLineBytes: number;
  onLine: (line: ReadLine) => void;
  /** each part of the file, once, in order; valid only during the call */
  onChunk?: (chunk: Buffer) => void;
  signal?: AbortSignal | undefined;
}

const chunkBytes = 256 * 1024;
const lineFeed = 0x0a;

/**
 * Reads the lines of a file that may be longer than memory, from its beginning.
 *
 * @throws NodeJS.ErrnoException, the signal's reason
 */
export async function readLines(
  file: FileHandle,
  { maxLineBytes, onLine, onChunk, signal }: LineReading,
): Promise<void> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let offset = 0;
  const emit = (end: Buffer, isEnded: boolean) => {
    const length = begunBytes + end.length;
    const isTooLong = length > maxLineBytes;
    const bytes = isTooLong ? undefined : begun.length === 0 ? end : Buffer.concat([...begun, end]);
    onLine({ bytes, offset, isEnded });
    offset += length + 1;
    begun = [];
    begunBytes = 0;
  };
  for (let position = 0; ;) {
    signal?.throwIfAborted();
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const read = chunk.subarray(0, bytesRead);
    onChunk?.(read);
    let start = 0;
    for (let end = read.indexOf(lineFeed); end >= 0; end = read.indexOf(lineFeed, start)) {
      emit(read.subarray(start, end), true);
      start = end + 1;
    }
    begunBytes += bytesRead - start;
    // Of a line that is too long only its length is kept.
    if (begunBytes > maxLineBytes) begun = [];
    else if (start < bytesRead) begun.push(Buffer.from(read.subarray(start)));
  }
  if (begunBytes > 0) emit(Buffer.alloc(0), false);
}
