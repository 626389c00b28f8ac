import type { Sending } from "@roomhub/protocol";
import {
  InvalidResponseError,
  type ParsedHead,
  PooledSocket,
  type ResponseParts,
  ResponseReader,
  type SocketUser,
} from "@roomhub/provider";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { headText, isHomeElsewhere, type Onward, passingHeaders } from "./heads.ts";
import type { HopPool } from "./pool.ts";

/** What became of a request that was piped. */
export type PipeOutcome =
  /** the client's socket took the last byte of the response */
  | { kind: "delivered" }
  /** the client left before */
  | { kind: "gone" }
  /**
   * The other hub took no byte of it, or (`wasReached`) says that it is not the room's home, perhaps after the request has waited
   * there. It may be sent to another, unless its body is gone.
   */
  | { kind: "untaken"; wasReached: boolean }
  /** Its response is no stream, and the client has the beginning of one. */
  | { kind: "refused"; body: string }
  /** The other hub took it and ended before its response: not to be sent again. `headers`: of what had begun. */
  | { kind: "broken"; headers: IncomingHttpHeaders | undefined };

/** So much is read of a refusal that ends a stream. */
const maxRefusalBytes = 64 * 1024;
/** A longer part of a body is written beside the head, not copied behind it. */
const maxJoinedBytes = 16 * 1024;
const none = Buffer.alloc(0);

export interface ExchangeOptions {
  pool: HopPool;
  request: IncomingMessage;
  response: ServerResponse;
  onward: Onward;
  /** There is a connection: the body may be written. */
  onOpen: () => void;
  /** The connection takes more of the body. */
  onDrain: () => void;
  onEnd: (outcome: PipeOutcome) => void;
}

/** One request at one hub, and its response on the way to the client. */
export class HopExchange implements SocketUser, ResponseParts, Sending {
  readonly #options: ExchangeOptions;
  readonly #response: ServerResponse;
  readonly #reader: ResponseReader;
  readonly #isChunked: boolean;
  /** of the request; empty once it is written */
  #head = "";
  #hasSentBody = false;
  #socket: PooledSocket | undefined;
  #begun: ParsedHead | undefined;
  /** of a response that ends a stream */
  #refusal: string | undefined;
  #decoder: StringDecoder | undefined;
  /** of a read that the client did not take */
  #unread: Buffer = none;
  /** the last bytes of the response, until the end of the turn */
  #last: Buffer | undefined;
  #isPaused = false;
  #closedWhilePaused = false;
  /** Of the response nothing is missing. */
  #isWhole = false;
  #isOver = false;
  readonly #onClientClosed = (): void => {
    if (!this.#response.writableFinished) this.#end({ kind: "gone" });
  };
  readonly #onClientDrain = (): void => this.#resume();
  readonly #onDelivered = (): void => this.#end({ kind: "delivered" });

  constructor(options: ExchangeOptions) {
    const { request, response, pool } = options;
    this.#options = options;
    this.#response = response;
    this.#reader = new ResponseReader(this, pool.heads, request.method === "HEAD");
    this.#isChunked = request.headers["transfer-encoding"] !== undefined;
  }

  start(): void {
    const { pool } = this.#options;
    this.#response.on("close", this.#onClientClosed);
    const idle = pool.take(this);
    if (idle !== undefined) return this.#open(idle);
    pool.dial().then(
      (socket) => {
        if (this.#isOver) socket.destroy();
        else this.#open(new PooledSocket(socket, "connect", this));
      },
      () => this.#end({ kind: "untaken", wasReached: false }),
    );
  }

  /** @returns false when the connection takes no more for now */
  writeBody(chunk: Buffer): boolean {
    const socket = this.#socket?.socket;
    if (socket === undefined) return true;
    const head = this.#takeHead();
    if (!this.#isChunked && chunk.length <= maxJoinedBytes && head !== "") {
      const bytes = Buffer.allocUnsafe(head.length + chunk.length);
      chunk.copy(bytes, bytes.write(head, 0, "latin1"));
      return socket.write(bytes);
    }
    socket.cork();
    const size = this.#isChunked ? `${chunk.length.toString(16)}\r\n` : "";
    if (head + size !== "") socket.write(head + size, "latin1");
    let hasRoom = socket.write(chunk);
    if (this.#isChunked) hasRoom = socket.write("\r\n", "latin1");
    socket.uncork();
    return hasRoom;
  }

  endBody(): void {
    this.#hasSentBody = true;
    const trailers = passingHeaders(this.#options.request.rawTrailers);
    const last = this.#takeHead() + (this.#isChunked ? headText("0", trailers) : "");
    if (last !== "") this.#socket?.socket.write(last, "latin1");
  }

  // — what happens on the connection —

  onConnected(): void {}

  onData(chunk: Buffer): void {
    if (!this.#isOver) this.#read(chunk);
  }

  onDrain(): void {
    if (!this.#isOver) this.#options.onDrain();
  }

  onEnd(): void {
    if (!this.#isOver && this.#reader.end()) this.#complete(false);
  }

  onClosed(): void {
    if (this.#isPaused) this.#closedWhilePaused = true;
    else this.#broken();
  }

  // — what its bytes are —

  /** HTTP/1.0 knows no informational responses. */
  onInformation(status: number): void {
    const response = this.#response;
    if (status === 101) return this.#broken();
    if (response.headersSent || response.req.httpVersion !== "1.1") return;
    if (status === 100) response.writeContinue();
    if (status === 102) response.writeProcessing();
  }

  onHead(head: ParsedHead): void {
    const response = this.#response;
    if (isHomeElsewhere(head)) return this.#end({ kind: "untaken", wasReached: true });
    this.#begun = head;
    // After comments only a stream can follow.
    if (response.headersSent && !isStream(head)) this.#refusal = "";
    if (response.headersSent) return;
    const headers = passingHeaders(head.fields);
    if (head.headers["connection"] === "close") headers.push("connection", "close");
    response.writeHead(head.status, headers);
  }

  onBody(bytes: Buffer): boolean {
    if (this.#isOver) return false;
    if (this.#refusal !== undefined) return this.#readRefusal(bytes);
    if (this.#reader.isWhole) {
      this.#last = bytes;
      this.#options.pool.turnEnd.add(this);
    } else if (!this.#response.write(bytes)) this.#isPaused = true;
    return !this.#isPaused;
  }

  onTrailers(fields: readonly string[]): void {
    const passing = passingHeaders(fields);
    const pairs: [string, string][] = [];
    for (let index = 0; index + 1 < passing.length; index += 2)
      pairs.push([passing[index] ?? "", passing[index + 1] ?? ""]);
    this.#response.addTrailers(pairs);
  }

  /** The last bytes leave with the end of the response. */
  send(): void {
    if (!this.#isOver) this.#response.end(this.#last, this.#onDelivered);
  }

  #open(socket: PooledSocket): void {
    this.#socket = socket;
    const { request, onward, onOpen } = this.#options;
    this.#head = requestHead(request, onward, this.#isChunked);
    onOpen();
    // What has come of the body leaves with the head.
    if (this.#head !== "") process.nextTick(writeHead, this);
  }

  writeHead(): void {
    const head = this.#takeHead();
    if (head !== "") this.#socket?.socket.write(head, "latin1");
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = "";
    return head;
  }

  #read(chunk: Buffer): void {
    let end: number;
    try {
      end = this.#reader.read(chunk, 0);
    } catch (error) {
      if (!(error instanceof InvalidResponseError)) throw error;
      return this.#broken();
    }
    if (this.#isOver) return;
    if (this.#reader.isWhole) return this.#complete(end === chunk.length);
    // A head that nothing has followed.
    if (this.#begun !== undefined && this.#refusal === undefined) this.#response.flushHeaders();
    if (!this.#isPaused) return;
    this.#unread = chunk.subarray(end);
    this.#socket?.socket.pause();
    this.#response.once("drain", this.#onClientDrain);
  }

  #resume(): void {
    if (this.#isOver || !this.#isPaused) return;
    this.#isPaused = false;
    const unread = this.#unread;
    this.#unread = none;
    this.#read(unread);
    if (this.#isPaused || this.#isOver) return;
    if (this.#closedWhilePaused) this.#broken();
    else this.#socket?.socket.resume();
  }

  #readRefusal(bytes: Buffer): boolean {
    this.#decoder ??= new StringDecoder("utf8");
    this.#refusal += this.#decoder.write(bytes);
    if ((this.#refusal?.length ?? 0) > maxRefusalBytes) this.#refused();
    return !this.#isOver;
  }

  #refused(): void {
    this.#end({ kind: "refused", body: this.#refusal ?? "" });
  }

  /** @param isExact - nothing came behind it */
  #complete(isExact: boolean): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#isPaused = false;
    const socket = this.#socket;
    const isReusable = isExact && this.#reader.isKept && this.#hasSentBody;
    if (socket !== undefined && isReusable && socket.socket.writableLength === 0) {
      this.#socket = undefined;
      this.#options.pool.keep(socket);
    }
    if (this.#refusal !== undefined) this.#refused();
    else if (this.#last === undefined) this.#response.end(this.#onDelivered);
  }

  #broken(): void {
    // What came whole is delivered, whatever becomes of the connection.
    if (!this.#isWhole) this.#end({ kind: "broken", headers: this.#begun?.headers });
  }

  #end(outcome: PipeOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#response.off("close", this.#onClientClosed);
    this.#unread = none;
    // Nothing waits for the rest of the request, or of its response.
    this.#socket?.destroy();
    this.#options.onEnd(outcome);
  }
}

function writeHead(exchange: HopExchange): void {
  exchange.writeHead();
}

/** Framing is made anew from the parsed head, so that both ends read the same. */
function requestHead(request: IncomingMessage, onward: Onward, isChunked: boolean): string {
  const { method, headers } = request;
  const passing = [...onward.fields];
  if (isChunked) passing.push("transfer-encoding", "chunked");
  else if (headers["content-length"] === undefined && method !== "GET" && method !== "HEAD")
    passing.push("content-length", "0");
  passing.push("Connection", "keep-alive");
  return headText(`${method} ${onward.path} HTTP/1.1`, passing);
}

function isStream({ status, headers }: ParsedHead): boolean {
  return status === 200 && headers["content-type"]?.startsWith("text/event-stream") === true;
}
