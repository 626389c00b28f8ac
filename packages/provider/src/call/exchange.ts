import {
  type RosterMember,
  type Timer,
  type TurnEnd,
  urlBelow,
  type World,
} from "@roomhub/protocol";
import { type CallPhase, failureOf, type ProviderFailure } from "./failure.ts";
import { lengthOf, type RequestHeads } from "./message-headers.ts";
import type { ProviderCall, ProviderRequest, ProviderSink } from "./provider-call.ts";
import { InvalidResponseError, type ParsedHead, type ResponseHeads } from "./response-head.ts";
import { type ResponseParts, ResponseReader } from "./response-reader.ts";
import type { PooledSocket, SocketPool, SocketUser } from "./socket-pool.ts";
import type { ProviderTarget } from "./target.ts";

/** What all exchanges with one target share. */
export interface ExchangeDeps {
  target: ProviderTarget;
  requestHeads: RequestHeads;
  responseHeads: ResponseHeads;
  sockets: SocketPool;
  connectTimeoutMs: number;
  world: World;
  turnEnd: TurnEnd;
  onClosed(exchange: Exchange): void;
}

const maxInformational = 1_024;
/** A kept socket that the provider had closed shows it within this time after a request was written. */
const staleSocketMs = 1_000;
/** A longer body is written beside its head, not copied behind it. */
const maxJoinedBytes = 16 * 1024;
/** What else stands in `content-encoding` (`none`, `utf-8`) changes no byte. RFC 9110 §8.4.1. */
const compression = /\b(?:(?:x-)?gzip|deflate|br|zstd|(?:x-)?compress)\b/i;
const none = Buffer.alloc(0);

/** One request and its response. Owns the socket from `start()` until `onClosed`. */
export class Exchange implements ProviderCall, RosterMember, SocketUser, ResponseParts {
  place = -1;
  readonly #request: ProviderRequest;
  readonly #sink: ProviderSink;
  readonly #deps: ExchangeDeps;
  #reader: ResponseReader;
  /** undefined before `start()`, and once it is closed or kept for another request */
  #socket: PooledSocket | undefined;
  #connectTimer: Timer | undefined;
  #phase: CallPhase = "connecting";
  #informational = 0;
  #hasReceived = false;
  /** ms on the world's clock */
  #sentMs = 0;
  #isAlone = false;
  #isBodyWritten = false;
  #bodyBytes = 0;
  /** of a read that the sink did not take */
  #unread: Buffer = none;
  #isPaused = false;
  /** The connection closed while the sink was behind. */
  #closedBy: { error: NodeJS.ErrnoException | undefined } | undefined;
  /** nothing more is called but `onClosed` */
  #isSettled = false;
  #isClosed = false;

  constructor(request: ProviderRequest, sink: ProviderSink, deps: ExchangeDeps) {
    this.#request = request;
    this.#sink = sink;
    this.#deps = deps;
    this.#reader = this.#newReader();
  }

  get isBodyTaken(): boolean | undefined {
    if (this.#request.body !== "streamed") return undefined;
    return this.#socket?.socket.writableLength === 0;
  }

  get isAccepted(): boolean {
    return this.#phase !== "connecting";
  }

  start(): void {
    this.#send(this.#request.body === "streamed");
  }

  /** Ends the call before anything was sent. */
  refuse(failure: ProviderFailure): void {
    process.nextTick(() => this.#fail(failure));
  }

  /** The client is being closed. */
  stop(): void {
    const message = `The call to ${this.#deps.target.label} was stopped here.`;
    this.#fail({ code: "provider_disconnected", message });
  }

  resume(): void {
    if (this.#isSettled || !this.#isPaused) return;
    this.#isPaused = false;
    const unread = this.#unread;
    this.#unread = none;
    this.#read(unread);
    if (this.#isPaused || this.#isSettled) return;
    if (this.#closedBy === undefined) this.#socket?.socket.resume();
    else this.#break(this.#closedBy.error);
  }

  cancel(): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#socket?.destroy();
    if (this.#socket === undefined) process.nextTick(() => this.#close());
  }

  writeBody(chunk: Buffer): boolean {
    const socket = this.#socket?.socket;
    if (this.#isSettled || socket === undefined || chunk.length === 0) return true;
    const { bodyBytes } = this.#request;
    this.#bodyBytes += chunk.length;
    if (bodyBytes !== undefined) {
      // Further bytes would begin another request.
      if (this.#bodyBytes <= bodyBytes) return socket.write(chunk);
      this.#failBody();
      return true;
    }
    socket.cork();
    socket.write(`${chunk.length.toString(16)}\r\n`, "latin1");
    socket.write(chunk);
    const hasRoom = socket.write("\r\n", "latin1");
    socket.uncork();
    return hasRoom;
  }

  endBody(): void {
    if (this.#isSettled) return;
    const { bodyBytes } = this.#request;
    if (bodyBytes !== undefined && this.#bodyBytes !== bodyBytes) return this.#failBody();
    this.#isBodyWritten = true;
    if (bodyBytes === undefined) this.#socket?.socket.write("0\r\n\r\n", "latin1");
  }

  #failBody(): void {
    const message = `The request to ${this.#deps.target.label} has not the length that it said.`;
    process.nextTick(() => this.#fail({ code: "internal_error", message }));
  }

  onConnected(): void {
    this.#deps.world.clearTimeout(this.#connectTimer);
    this.#phase = "waiting";
  }

  onData(chunk: Buffer): void {
    this.#hasReceived = true;
    if (!this.#isSettled) this.#read(chunk);
  }

  onDrain(): void {
    if (!this.#isSettled && this.#request.body === "streamed") this.#sink.onBodyDrain?.();
  }

  onEnd(): void {
    if (!this.#isSettled && this.#reader.end()) this.#complete();
  }

  onClosed(error: NodeJS.ErrnoException | undefined): void {
    this.#deps.world.clearTimeout(this.#connectTimer);
    if (this.#mayResend(error)) return this.#send(true);
    this.#socket = undefined;
    if (this.#isSettled) this.#close();
    else if (this.#isPaused) this.#closedBy = { error };
    else this.#break(error);
  }

  onInformation(status: number): void {
    if (status === 101) this.#reject("tried to switch protocols");
    else if (++this.#informational > maxInformational) this.#reject("sends too many 1xx responses");
  }

  onHead(head: ParsedHead): void {
    const { status, headers } = head;
    if (this.#isSettled) return;
    if (status > 599) return this.#reject(`responded with status ${status}`);
    if (compression.test(headers["content-encoding"] ?? "")) {
      return this.#reject("compressed its response although no encoding was accepted");
    }
    this.#phase = "responding";
    this.#sink.onHead(head);
  }

  onBody(bytes: Buffer): boolean {
    if (this.#isSettled) return false;
    const isTaken = this.#sink.onData(bytes);
    this.#isPaused = !isTaken && !this.#isSettled;
    return isTaken;
  }

  /** @param isAlone - on a new socket, which is closed afterwards */
  #send(isAlone: boolean): void {
    const { target, sockets, requestHeads, connectTimeoutMs, world } = this.#deps;
    const { path, body } = this.#request;
    let head: string;
    try {
      // A server that refuses a long body at once closes such a connection, and its response may be lost with it.
      const isLast = isAlone && body !== "streamed";
      head = requestHeads.of(this.#request, urlBelow(target.basePath, path), isLast);
    } catch (error) {
      const message = `The request to ${target.label} cannot be written: ${(error as Error).message}.`;
      return this.refuse({ code: "provider_unreachable", message });
    }
    const taken = isAlone ? sockets.open(target, this) : sockets.take(target, this);
    this.#socket = taken;
    this.#isAlone = isAlone;
    this.#hasReceived = false;
    this.#reader = this.#newReader();
    this.#phase = taken.isReused ? "waiting" : "connecting";
    if (!taken.isReused) {
      this.#connectTimer = world.setTimeout(() => {
        const message = `${target.label} did not accept a connection within ${connectTimeoutMs / 1_000} s.`;
        this.#fail({ code: "provider_unreachable", message });
      }, connectTimeoutMs);
    }
    this.#isBodyWritten = body !== "streamed";
    this.#sentMs = world.monotonicMs();
    write(taken, head, body, this.#deps.turnEnd);
  }

  #newReader(): ResponseReader {
    return new ResponseReader(this, this.#deps.responseHeads, this.#request.method === "HEAD");
  }

  #read(chunk: Buffer): void {
    let end: number;
    try {
      end = this.#reader.read(chunk, 0);
    } catch (error) {
      if (!(error instanceof InvalidResponseError)) throw error;
      return this.#reject(`sent invalid HTTP: ${error.message}`);
    }
    if (this.#isSettled) return;
    if (this.#reader.isWhole && !this.#isPaused) return this.#complete(end === chunk.length);
    if (!this.#isPaused) return;
    this.#unread = chunk.subarray(end);
    this.#socket?.socket.pause();
  }

  /** @param isExact - nothing came behind it */
  #complete(isExact = false): void {
    const socket = this.#socket;
    this.#settle();
    // A response that came before the body was all sent is whole, and the socket of no further use.
    const isReusable = isExact && this.#reader.isKept && this.#isBodyWritten && !this.#isAlone;
    if (socket === undefined || !isReusable || socket.socket.writableLength > 0) {
      socket?.destroy();
    } else {
      this.#socket = undefined;
      this.#deps.sockets.keep(this.#deps.target, socket);
    }
    this.#sink.onEnd();
    if (this.#socket === undefined) this.#close();
  }

  /**
   * Contract §3: a kept socket that the provider had closed already, which shows at once. One that closes later may have
   * generated meanwhile. At most once: a new socket was not used before.
   */
  #mayResend(error: NodeJS.ErrnoException | undefined): boolean {
    if (this.#isSettled || this.#hasReceived || this.#socket?.isReused !== true) return false;
    if (this.#deps.world.monotonicMs() - this.#sentMs > staleSocketMs) return false;
    return error === undefined || error.code === "ECONNRESET" || error.code === "EPIPE";
  }

  #break(error: NodeJS.ErrnoException | undefined): void {
    const cause = error ?? Object.assign(new Error("closed"), { code: "ECONNRESET" });
    this.#fail(failureOf(cause, this.#phase, this.#deps.target));
  }

  #reject(what: string): void {
    const message = `${this.#deps.target.label} ${what}.`;
    this.#fail({ code: "provider_invalid_response", message });
  }

  #fail(failure: ProviderFailure): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#sink.onFailure(failure);
    this.#socket?.destroy();
    if (this.#socket === undefined) this.#close();
  }

  #settle(): void {
    this.#isSettled = true;
    this.#unread = none;
    this.#deps.world.clearTimeout(this.#connectTimer);
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#deps.onClosed(this);
    this.#sink.onClosed();
  }
}

/** Head and body leave together, those of short bodies at the end of the turn. */
function write(
  pooled: PooledSocket,
  head: string,
  body: ProviderRequest["body"],
  turnEnd: TurnEnd,
): void {
  const { socket } = pooled;
  if (body === undefined || body === "streamed") {
    socket.write(head, "latin1");
    return;
  }
  const bodyBytes = lengthOf(body);
  if (bodyBytes > maxJoinedBytes) {
    socket.cork();
    socket.write(head, "latin1");
    for (const part of body) socket.write(part);
    socket.uncork();
    return;
  }
  const bytes = Buffer.allocUnsafe(head.length + bodyBytes);
  let at = bytes.write(head, 0, "latin1");
  for (const part of body) at += part.copy(bytes, at);
  socket.cork();
  socket.write(bytes);
  turnEnd.add(pooled);
}
