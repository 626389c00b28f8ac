import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { tokenBytes } from "../../tests/support/providers/fast-provider.ts";
import type { Target } from "./target.ts";
import { ResponseReader, type ResponseListener } from "./response-reader.ts";

export interface ConnectionListener {
  /** of the body, since the request was sent */
  onFirstByte(ms: number): void;
  /** so many whole tokens at once; how long after the ones before, undefined for the first */
  onTokens(count: number, gapMs: number | undefined): void;
  onResponse(status: number, bytes: number, ms: number): void;
  /** closed, or not HTTP, while a response was due */
  onBroken(why: string): void;
}

/** One client on a bare socket: sends a request, reads the response, is ready to send again. */
export class Connection implements ResponseListener {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #listener: ConnectionListener;
  #bytes = 0;
  #tokens = 0;
  #sentMs = 0;
  #readMs = 0;
  #tokenMs: number | undefined;
  #isWaiting = false;

  constructor(
    { port, isTls = false }: Pick<Target, "port" | "isTls">,
    request: Buffer,
    listener: ConnectionListener,
  ) {
    this.#request = request;
    this.#listener = listener;
    const at = { host: "127.0.0.1", port, noDelay: true };
    this.#socket = isTls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
    const reader = new ResponseReader(this);
    this.#socket.on("data", (bytes: Buffer) => {
      this.#readMs = performance.now();
      try {
        reader.feed(bytes);
      } catch (error) {
        this.#break(String(error));
      }
    });
    this.#socket.on("error", (error) => this.#break(error.message));
    this.#socket.on("close", () => this.#break("the connection was closed"));
  }

  send(): void {
    this.#bytes = 0;
    this.#tokens = 0;
    this.#tokenMs = undefined;
    this.#isWaiting = true;
    this.#sentMs = performance.now();
    this.#socket.write(this.#request);
  }

  close(): void {
    this.#isWaiting = false;
    this.#socket.destroy();
  }

  onBody(bytes: number): void {
    if (this.#bytes === 0) this.#listener.onFirstByte(this.#readMs - this.#sentMs);
    this.#bytes += bytes;
    const tokens = Math.floor(this.#bytes / tokenBytes);
    if (tokens === this.#tokens) return;
    const gapMs = this.#tokenMs === undefined ? undefined : this.#readMs - this.#tokenMs;
    this.#listener.onTokens(tokens - this.#tokens, gapMs);
    this.#tokens = tokens;
    this.#tokenMs = this.#readMs;
  }

  onEnd(status: number): void {
    this.#isWaiting = false;
    this.#listener.onResponse(status, this.#bytes, this.#readMs - this.#sentMs);
  }

  #break(why: string): void {
    this.#socket.destroy();
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#listener.onBroken(why);
  }
}
