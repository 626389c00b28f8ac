/** Receives what is read from one connection. */
export interface ResponseListener {
  /** this many more bytes of the response's body */
  onBody(bytes: number): void;
  onEnd(status: number): void;
}

const headEnd = Buffer.from("\r\n\r\n");
const lineFeed = 0x0a;
const none: Buffer = Buffer.alloc(0);

/**
 * Reads HTTP/1.1 responses from a kept connection and only counts: no headers as objects, no body as text. Supports responses
 * with a length and chunked ones.
 */
export class ResponseReader {
  readonly #listener: ResponseListener;
  #state: "head" | "length" | "size" | "chunk" | "chunk-end" | "trailer" = "head";
  /** the beginning of a head or a line that is not whole yet */
  #kept = none;
  #left = 0;
  #status = 0;

  constructor(listener: ResponseListener) {
    this.#listener = listener;
  }

  /** @throws Error for what is neither */
  feed(bytes: Buffer): void {
    const all = this.#kept.length === 0 ? bytes : Buffer.concat([this.#kept, bytes]);
    this.#kept = none;
    let at = 0;
    while (at < all.length) {
      const next = this.#step(all, at);
      if (next === -1) {
        this.#kept = all.subarray(at);
        return;
      }
      at = next;
    }
  }

  /** @returns how far it came; -1 when more bytes are needed */
  #step(all: Buffer, at: number): number {
    switch (this.#state) {
      case "head":
        return this.#head(all, at);
      case "length":
      case "chunk":
        return this.#body(all, at);
      case "size":
      case "chunk-end":
      case "trailer":
        return this.#line(all, at);
    }
  }

  #head(all: Buffer, at: number): number {
    const end = all.indexOf(headEnd, at);
    if (end === -1) return -1;
    const text = all.toString("latin1", at, end).toLowerCase();
    this.#status = Number(text.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/.exec(text)?.[1];
    if (length === undefined && !text.includes("\r\ntransfer-encoding: chunked")) {
      throw new Error(`a response of unknown length: ${text.slice(0, 200)}`);
    }
    this.#left = Number(length ?? 0);
    this.#state = length === undefined ? "size" : "length";
    if (length === "0") this.#end();
    return end + headEnd.length;
  }

  #body(all: Buffer, at: number): number {
    const bytes = Math.min(this.#left, all.length - at);
    this.#left -= bytes;
    this.#listener.onBody(bytes);
    if (this.#left === 0) {
      if (this.#state === "length") this.#end();
      else this.#state = "chunk-end";
    }
    return at + bytes;
  }

  #line(all: Buffer, at: number): number {
    const end = all.indexOf(lineFeed, at);
    if (end === -1) return -1;
    if (this.#state === "chunk-end") this.#state = "size";
    else if (this.#state === "size") {
      this.#left = Number.parseInt(all.toString("latin1", at, end), 16);
      this.#state = this.#left === 0 ? "trailer" : "chunk";
    } else if (end - at <= 1) this.#end();
    return end + 1;
  }

  #end(): void {
    this.#state = "head";
    this.#listener.onEnd(this.#status);
  }
}
