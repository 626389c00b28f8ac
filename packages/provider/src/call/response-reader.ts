import {
  fieldsOf,
  InvalidResponseError,
  type ParsedHead,
  type ResponseHeads,
} from "./response-head.ts";

const maxHeadBytes = 16 * 1024;
/** Of a chunk's size with its extensions, and of all trailers together. */
const maxLineBytes = 16 * 1024;
/** Most heads are shorter. */
const headStepBytes = 1_024;
const endOfHead = "\r\n\r\n";

/** Gets a response in parts. */
export interface ResponseParts {
  /** 1xx */
  onInformation(status: number): void;
  onHead(head: ParsedHead): void;
  /** @returns false to stop: what follows in the chunk stays unread */
  onBody(bytes: Buffer): boolean;
  /** What follows a body in chunks, before its end: names and values in turn. Left out: it is dropped unread. */
  onTrailers?(fields: readonly string[]): void;
}

type State =
  | "head"
  | "fixed"
  | "chunk-size"
  | "chunk"
  | "chunk-end"
  | "trailers"
  | "until-close"
  | "whole";

/**
 * Reads one HTTP/1.1 response from its bytes, cut anywhere. Strict: refuses a response that two readers could read
 * differently (two lengths, a bare line feed, a folded line). RFC 9112.
 */
export class ResponseReader {
  readonly #parts: ResponseParts;
  readonly #heads: ResponseHeads;
  readonly #hasNoBody: boolean;
  #state: State = "head";
  /** of a head or a line that continues in the next chunk, as Latin-1 */
  #text = "";
  #leftBytes = 0;
  #trailerBytes = 0;
  readonly #trailers: string[] = [];
  #isKept = false;

  /** @param hasNoBody - whatever the head says: the response to a HEAD request */
  constructor(parts: ResponseParts, heads: ResponseHeads, hasNoBody: boolean) {
    this.#parts = parts;
    this.#heads = heads;
    this.#hasNoBody = hasNoBody;
  }

  get isWhole(): boolean {
    return this.#state === "whole";
  }

  /** The server keeps the connection for another request. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /**
   * @returns the offset of the first byte that was not read: behind the response's last, or where `onBody` stopped
   * @throws {InvalidResponseError}
   */
  read(chunk: Buffer, from: number): number {
    let index = from;
    while (index < chunk.length && this.#state !== "whole") {
      switch (this.#state) {
        case "head":
          index = this.#readHead(chunk, index);
          break;
        case "fixed":
        case "chunk":
        case "until-close": {
          const end = Math.min(chunk.length, index + this.#leftBytes);
          const isRead = this.#readBody(chunk, index, end);
          index = end;
          if (!isRead) return index;
          break;
        }
        default:
          index = this.#readLine(chunk, index);
      }
    }
    return index;
  }

  /** The connection has ended. @returns whether the response is whole */
  end(): boolean {
    if (this.#state === "until-close") this.#state = "whole";
    return this.#state === "whole";
  }

  #readHead(chunk: Buffer, from: number): number {
    let index = from;
    while (index < chunk.length) {
      const seen = this.#text.length;
      this.#text += chunk.toString("latin1", index, Math.min(chunk.length, index + headStepBytes));
      const at = this.#text.indexOf(endOfHead, Math.max(0, seen - endOfHead.length + 1));
      if ((at < 0 ? this.#text.length : at) > maxHeadBytes) {
        throw new InvalidResponseError("its headers are larger than 16 KiB");
      }
      if (at >= 0) {
        const text = this.#text.slice(0, at);
        this.#text = "";
        this.#begin(this.#heads.parse(text));
        return index + at + endOfHead.length - seen;
      }
      if (seen < 7) this.#checkStart();
      index += this.#text.length - seen;
    }
    return index;
  }

  /** Something else than HTTP may never send the end of a head. */
  #checkStart(): void {
    const start = this.#text.slice(0, 7);
    if (!"HTTP/1.".startsWith(start))
      throw new InvalidResponseError("it does not begin with HTTP/1");
  }

  #begin(head: ParsedHead): void {
    const { status, length } = head;
    if (status < 200) return this.#parts.onInformation(status);
    this.#isKept = head.isKept && length !== "until-close";
    this.#parts.onHead(head);
    if (this.#hasNoBody || status === 204 || status === 304) this.#state = "whole";
    else if (length === "chunked") this.#state = "chunk-size";
    else if (length === "until-close") this.#expect("until-close", Number.POSITIVE_INFINITY);
    else this.#expect("fixed", length);
  }

  #expect(state: "fixed" | "chunk" | "until-close", bytes: number): void {
    this.#leftBytes = bytes;
    this.#state = state === "fixed" && bytes === 0 ? "whole" : state;
  }

  /** @returns false when the reader is behind */
  #readBody(chunk: Buffer, from: number, end: number): boolean {
    this.#leftBytes -= end - from;
    if (this.#leftBytes === 0) this.#state = this.#state === "chunk" ? "chunk-end" : "whole";
    return this.#parts.onBody(
      from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end),
    );
  }

  /** What stands between chunks: lines that end with CR LF. */
  #readLine(chunk: Buffer, from: number): number {
    const lineFeed = chunk.indexOf(0x0a, from);
    const end = lineFeed < 0 ? chunk.length : lineFeed + 1;
    if (this.#text.length + end - from > maxLineBytes) {
      throw new InvalidResponseError("a line between its chunks is too long");
    }
    this.#text += chunk.toString("latin1", from, end);
    if (lineFeed < 0) return end;
    if (!this.#text.endsWith("\r\n"))
      throw new InvalidResponseError("a line does not end with CR LF");
    const line = this.#text.slice(0, -2);
    this.#text = "";
    this.#takeLine(line);
    return end;
  }

  #takeLine(line: string): void {
    if (this.#state === "chunk-end") {
      if (line !== "") throw new InvalidResponseError("a chunk is longer than it says");
      this.#state = "chunk-size";
    } else if (this.#state === "chunk-size") {
      const size = /^([0-9a-fA-F]{1,12})[ \t]*(?:;[\t\u0020-\u007e\u0080-\u00ff]*)?$/.exec(
        line,
      )?.[1];
      if (size === undefined) throw new InvalidResponseError("the size of a chunk is no number");
      const bytes = Number.parseInt(size, 16);
      if (bytes === 0) this.#state = "trailers";
      else this.#expect("chunk", bytes);
    } else {
      this.#trailerBytes += line.length;
      if (this.#trailerBytes > maxLineBytes)
        throw new InvalidResponseError("its trailers are too long");
      if (line !== "") return void this.#trailers.push(line);
      this.#state = "whole";
      if (this.#trailers.length > 0) this.#parts.onTrailers?.(fieldsOf(this.#trailers));
    }
  }
}
