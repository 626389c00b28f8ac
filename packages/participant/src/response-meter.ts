import {
  findUsage,
  GENERATED_CONTENT,
  isEventStream,
  type StreamMarker,
  SURFACES,
  type TimeSource,
  type Usage,
} from "@roomhub/protocol";

/** At least this much of a response's end is kept. Only a few short fields follow usage. */
const keptBytes = 4_096;
const maxBytes = 2 * keptBytes;
/** Most concurrent responses are short so far. */
const firstBytes = 1_024;
const noBytes = Buffer.alloc(0);

/** As long as the longest match of {@link GENERATED_CONTENT}, so that a match across chunks is found. */
const carriedChars = 64;

/** With the flag `g`, to count matches; the last test of a text finds nothing, so that the next begins at its start. */
const countedContent: Readonly<Record<StreamMarker, RegExp>> = {
  chat: new RegExp(GENERATED_CONTENT.chat, "g"),
  none: new RegExp(GENERATED_CONTENT.none, "g"),
  responses: new RegExp(GENERATED_CONTENT.responses, "g"),
  messages: new RegExp(GENERATED_CONTENT.messages, "g"),
  media: new RegExp(GENERATED_CONTENT.media, "g"),
};

/** By path; requests that only read generate nothing. */
const markers = new Map(SURFACES.map(({ path, marker }) => [`/${path}`, marker]));

/**
 * Measures a response in transit: the time of its first content and the usage at its end. Searches text until the first
 * content, which is in the first chunks; after that a chunk costs one small copy, unless content is counted. Parses usage
 * once, at the end.
 */
export class ResponseMeter {
  /** undefined for a response whose first byte counts */
  readonly #content: RegExp | undefined;
  readonly #isCounted: boolean;
  #contentMs: number | undefined;
  #contentEvents = 0;
  #carried = "";
  #tail = noBytes;
  #length = 0;

  /**
   * @param marker - for an event stream; undefined for a JSON response
   * @param isCounted - whether `contentEvents` is needed
   */
  constructor(marker: StreamMarker | undefined, isCounted: boolean) {
    const patterns = isCounted ? countedContent : GENERATED_CONTENT;
    this.#content = marker === undefined ? undefined : patterns[marker];
    this.#isCounted = isCounted;
  }

  /** Time of the first content, on the clock of {@link see}. Contract §5: a role alone or `response.created` does not count. */
  get contentMs(): number | undefined {
    return this.#contentMs;
  }

  /** Pieces of content in a stream so far, about one per token at most model servers; 0 when they are not counted. */
  get contentEvents(): number {
    return this.#contentEvents;
  }

  see(chunk: Buffer, time: TimeSource): void {
    if (this.#isCounted && this.#content !== undefined) this.#count(chunk, this.#content, time);
    else if (this.#contentMs === undefined && this.#hasContent(chunk))
      this.#contentMs = time.monotonicMs();
    this.#keep(chunk);
  }

  /** The usage at the response's end; call it once the response is complete. */
  usage(): Usage {
    return findUsage(this.tail);
  }

  /** The response's last 4 KiB or more, as Latin-1. */
  get tail(): string {
    return this.#tail.toString("latin1", 0, this.#length);
  }

  #hasContent(chunk: Buffer): boolean {
    if (this.#content === undefined) return chunk.length > 0;
    const text = this.#carried + chunk.toString("latin1");
    const isFound = this.#content.test(text);
    this.#carried = isFound ? "" : text.slice(-carriedChars);
    return isFound;
  }

  #count(chunk: Buffer, content: RegExp, time: TimeSource): void {
    const text = this.#carried + chunk.toString("latin1");
    let end = 0;
    while (content.test(text)) {
      this.#contentEvents++;
      end = content.lastIndex;
    }
    if (this.#contentEvents > 0) this.#contentMs ??= time.monotonicMs();
    this.#carried = text.slice(Math.max(end, text.length - carriedChars));
  }

  /** Copied: a chunk is a view into the socket's read buffer and would retain all of it. */
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

/**
 * @param isCounted - whether `contentEvents` is needed
 * @returns undefined where nothing is generated: lists, stored responses, error responses
 */
export function meterFor(
  { method, path }: { method: string; path: string },
  { status, headers }: { status: number; headers: Record<string, string> },
  isCounted: boolean,
): ResponseMeter | undefined {
  const marker = markers.get(path);
  if (method !== "POST" || marker === undefined || status >= 300) return undefined;
  return new ResponseMeter(isEventStream(headers) ? marker : undefined, isCounted);
}
