import { createSseReader, type StreamMarker } from "@roomhub/protocol";
import { cutBy } from "./cuts.fixture.ts";
import { noEdits, type StreamEdits } from "./event-edits.ts";
import { StreamObserver } from "./observe.ts";

export const maxHeldBytes = 16 * 1024;

/** An observer, and what it let pass so far. */
export function watch(
  marker: StreamMarker,
  holdBytes = maxHeldBytes,
  edits: StreamEdits = noEdits,
) {
  const forwarded: Buffer[] = [];
  const forward = (bytes: Buffer) => forwarded.push(Buffer.from(bytes));
  const observer = new StreamObserver(marker, holdBytes, forward, edits);
  const forwardedBytes = () => forwarded.reduce((sum, bytes) => sum + bytes.length, 0);
  return { observer, forwardedBytes, forwarded: () => Buffer.concat(forwarded).toString("utf8") };
}

/** Pushes everything, one ms per chunk, and ends. */
export function run(
  marker: StreamMarker,
  chunks: readonly Buffer[],
  holdBytes = maxHeldBytes,
  edits: StreamEdits = noEdits,
) {
  const { observer, forwarded } = watch(marker, holdBytes, edits);
  for (const [index, bytes] of chunks.entries()) observer.push(bytes, index);
  return { verdict: observer.end(chunks.length), observer, forwarded: forwarded() };
}

export function verdictOf(
  marker: StreamMarker,
  text: string,
  cut: readonly number[] = [text.length],
) {
  return run(marker, cutBy(Buffer.from(text), cut)).verdict;
}

/** The events a client reads, as it reads them. */
export function eventsIn(text: string): { event: string | undefined; data: string }[] {
  const found: { event: string | undefined; data: string }[] = [];
  createSseReader(({ event, data }) => found.push({ event, data })).feed(text);
  return found;
}
