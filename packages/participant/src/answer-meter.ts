import {
  findUsage,
  GENERATED_CONTENT,
  type StreamMarker,
  SURFACES,
  type Usage,
} from "@roomhub/protocol";

/** At least so much of an answer's end is kept. Usage stands behind everything but a few short fields. */
const keptBytes = 4_096;
const maxBytes = 2 * keptBytes;
/** Most of the answers that are held at once have said little. */
const firstBytes = 1_024;
const noBytes = Buffer.alloc(0);

/** Longer than any beginning of content up to its first character, so that a cut in the middle hides none. */
const carriedChars = 64;

/** By path; what only looks something up generates nothing. */
const markers = new Map(SURFACES.map(({ path, marker }) => [`/${path}`, marker]));

/**
 * Measures an answer while it passes: when its first content came, and what usage its end tells. Looks at text until the
 * first content, which is in the first chunks; from then on a chunk costs one small copy. Reads usage once, at the end.
 */
export class AnswerMeter {
  /** undefined for an answer whose first byte counts */
  readonly #content: RegExp | undefined;
  #contentMs: number | undefined;
  #carried = "";
  #tail = noBytes;
  #length = 0;

  /** @param marker - of a stream of events; undefined for an answer in one piece */
  constructor(marker: StreamMarker | undefined) {
    this.#content = marker === undefined ? undefined : GENERATED_CONTENT[marker];
  }

  /** When the first content came, on the clock of {@link see}. Contract §5: not a role alone, nor `response.created`. */
  get contentMs(): number | undefined {
    return this.#contentMs;
  }

  see(chunk: Buffer, now: () => number): void {
    if (this.#contentMs === undefined && this.#hasContent(chunk)) this.#contentMs = now();
    this.#keep(chunk);
  }

  /** What the answer's end says; to be asked once it is whole. */
  usage(): Usage {
    return findUsage(this.#tail.toString("latin1", 0, this.#length));
  }

  #hasContent(chunk: Buffer): boolean {
    if (this.#content === undefined) return chunk.length > 0;
    const text = this.#carried + chunk.toString("latin1");
    const isFound = this.#content.test(text);
    this.#carried = isFound ? "" : text.slice(-carriedChars);
    return isFound;
  }

  /** Copied: a chunk is a view into the socket's read, and would hold all of it. */
  #keep(chunk: Buffer): void {
    const bytes = Math.min(chunk.length, keptBytes);
    this.#makeRoom(bytes);
    chunk.copy(this.#tail, this.#length, chunk.length - bytes);
    this.#length += bytes;
  }

  #makeRoom(bytes: number): void {
    if (this.#length + bytes > maxBytes) {
      this.#tail.copyWithin(0, this.#length - keptBytes, this.#length);
      this.#length = keptBytes;
    }
    const needed = this.#length + bytes;
    if (needed <= this.#tail.length) return;
    const grown = Buffer.allocUnsafe(needed <= firstBytes ? firstBytes : maxBytes);
    this.#tail.copy(grown, 0, 0, this.#length);
    this.#tail = grown;
  }
}

/** @returns undefined where nothing is generated: lists, stored responses, an answer that is an error */
export function meterFor(
  { method, path }: { method: string; path: string },
  { status, headers }: { status: number; headers: Record<string, string> },
): AnswerMeter | undefined {
  const marker = markers.get(path);
  if (method !== "POST" || marker === undefined || status >= 300) return undefined;
  const isStream = /^text\/event-stream\b/i.test(headers["content-type"] ?? "");
  return new AnswerMeter(isStream ? marker : undefined);
}
