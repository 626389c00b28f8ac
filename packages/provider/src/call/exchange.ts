import { type RosterMember, urlBelow } from "@roomhub/protocol";
import { type ClientRequest, type IncomingMessage, request as httpRequest } from "node:http";
import { type CallPhase, failureOf, type ProviderFailure } from "./failure.ts";
import type { ResponseHeaders, RequestHeaders } from "./message-headers.ts";
import type { ProviderCall, ProviderRequest, ProviderSink } from "./provider-call.ts";
import { closingAgent, keepingAgent, type ProviderSocket, type SocketPool } from "./socket-pool.ts";
import type { ProviderTarget } from "./target.ts";

/** What all exchanges with one target share. */
export interface ExchangeDeps {
  target: ProviderTarget;
  requestHeaders: RequestHeaders;
  responseHeaders: ResponseHeaders;
  sockets: SocketPool;
  connectTimeoutMs: number;
  onClosed(exchange: Exchange): void;
}

const maxHeaderBytes = 16 * 1024;
const maxInformational = 1_024;
/** What else stands in `content-encoding` (`none`, `utf-8`) changes no byte. RFC 9110 §8.4.1. */
const compression = /\b(?:(?:x-)?gzip|deflate|br|zstd|(?:x-)?compress)\b/i;

/** One request and its response. Owns the socket from `start()` until `onClosed`. */
export class Exchange implements ProviderCall, RosterMember {
  place = -1;
  readonly #providerRequest: ProviderRequest;
  readonly #sink: ProviderSink;
  readonly #deps: ExchangeDeps;
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #connectTimer: NodeJS.Timeout | undefined;
  #phase: CallPhase = "connecting";
  #informational = 0;
  #bytesReadBefore = 0;
  /** nothing more is called but `onClosed` */
  #isSettled = false;
  #isReleased = false;
  #isClosed = false;

  constructor(request: ProviderRequest, sink: ProviderSink, deps: ExchangeDeps) {
    this.#providerRequest = request;
    this.#sink = sink;
    this.#deps = deps;
  }

  get isAccepted(): boolean {
    return this.#phase !== "connecting";
  }

  start(): void {
    this.#send(this.#providerRequest.body === "streamed");
  }

  /** Ends the call before anything was sent. */
  refuse(failure: ProviderFailure): void {
    this.#isReleased = true;
    process.nextTick(() => this.#fail(failure));
  }

  /** The client is being closed. */
  stop(): void {
    const message = `The call to ${this.#deps.target.label} was stopped here.`;
    this.#fail({ code: "provider_disconnected", message });
    this.#request?.destroy();
  }

  resume(): void {
    if (!this.#isSettled) this.#response?.resume();
  }

  cancel(): void {
    if (this.#isSettled) return;
    this.#settle();
    this.#request?.destroy();
    process.nextTick(() => this.#closeWhenReleased());
  }

  writeBody(chunk: Buffer): boolean {
    if (this.#isSettled || this.#request === undefined) return true;
    return this.#request.write(chunk);
  }

  endBody(): void {
    if (!this.#isSettled) this.#request?.end();
  }

  /** @param isAlone - on a new socket, which is closed afterwards */
  #send(isAlone: boolean): void {
    const { target, sockets, requestHeaders } = this.#deps;
    const { method, path, body } = this.#providerRequest;
    let request: ClientRequest;
    try {
      request = httpRequest({
        method,
        path: urlBelow(target.basePath, path),
        headers: requestHeaders.of(this.#providerRequest),
        maxHeaderSize: maxHeaderBytes,
        insecureHTTPParser: false,
        agent: isAlone ? closingAgent : keepingAgent,
      });
    } catch (error) {
      // A path or header value that cannot be written: the message of Node names it without its value.
      const message = `The request to ${target.label} cannot be written: ${(error as Error).message}.`;
      return this.refuse({ code: "provider_unreachable", message });
    }
    this.#request = request;
    this.#listen(request);
    this.#giveSocket(request, isAlone ? sockets.open(target) : sockets.take(target));
    if (body === "streamed") {
      request.flushHeaders();
      return;
    }
    if (body !== undefined) for (const part of body) request.write(part);
    request.end();
  }

  #listen(request: ClientRequest): void {
    request.on("information", () => this.#onInformation());
    request.on("response", (response) => this.#onResponse(response));
    request.on("upgrade", (_response, socket) => {
      socket.destroy();
      this.#reject("tried to switch protocols");
    });
    if (this.#providerRequest.body === "streamed") {
      request.on("drain", () => {
        if (!this.#isSettled) this.#sink.onBodyDrain?.();
      });
    }
    request.on("error", (error) => this.#onError(request, error));
    request.on("close", () => {
      if (request !== this.#request) return;
      this.#isReleased = true;
      this.#closeWhenReleased();
    });
  }

  #giveSocket(request: ClientRequest, { socket, isReused }: ProviderSocket): void {
    this.#bytesReadBefore = socket.bytesRead;
    request.reusedSocket = isReused;
    request.onSocket(socket);
    if (isReused) {
      this.#phase = "waiting";
      return;
    }
    const { target, connectTimeoutMs } = this.#deps;
    this.#phase = "connecting";
    this.#connectTimer = setTimeout(() => {
      const message = `${target.label} did not accept a connection within ${connectTimeoutMs / 1_000} s.`;
      this.#fail({ code: "provider_unreachable", message });
      request.destroy();
    }, connectTimeoutMs);
    socket.once(target.isSecure ? "secureConnect" : "connect", () => {
      clearTimeout(this.#connectTimer);
      this.#phase = "waiting";
    });
  }

  #onInformation(): void {
    if (++this.#informational > maxInformational) this.#reject("sends too many 1xx responses");
  }

  #onResponse(response: IncomingMessage): void {
    this.#response = response;
    // Comes when the socket closes under a paused or cancelled response; without a listener it would be thrown.
    response.on("error", (error) => this.#onError(this.#request, error));
    if (this.#isSettled) return;
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 599) return this.#reject(`responded with status ${status}`);
    const headers = this.#deps.responseHeaders.of(response.rawHeaders);
    if (compression.test(headers["content-encoding"] ?? "")) {
      return this.#reject("compressed its response although no encoding was accepted");
    }
    this.#phase = "responding";
    this.#sink.onHead({ status, headers });
    response.on("data", (chunk: Buffer) => {
      if (!this.#isSettled && !this.#sink.onData(chunk)) response.pause();
    });
    response.on("end", () => this.#onResponseEnd(response));
  }

  #onResponseEnd(response: IncomingMessage): void {
    if (this.#isSettled || !response.complete) return;
    this.#settle();
    this.#sink.onEnd();
    // The response came before the body was all sent: the rest is not needed, and the socket is of no further use.
    if (this.#request?.writableFinished !== true) this.#request?.destroy();
    this.#closeWhenReleased();
  }

  #onError(request: ClientRequest | undefined, error: NodeJS.ErrnoException): void {
    if (this.#isSettled || request !== this.#request) return;
    // A response that is here in whole counts, even when the rest of our body found a closed door.
    if (this.#response?.complete === true && error.code?.startsWith("HPE_") !== true) return;
    if (request !== undefined && this.#mayResend(request, error)) {
      return this.#send(true);
    }
    this.#fail(failureOf(error, this.#phase, this.#deps.target));
    request?.destroy();
  }

  /** Contract §3: a kept socket the provider had closed already; nothing of a response was seen. At most once: fresh
   * sockets are never `reusedSocket`. */
  #mayResend(request: ClientRequest, error: NodeJS.ErrnoException): boolean {
    return (
      request.reusedSocket &&
      (error.code === "ECONNRESET" || error.code === "EPIPE") &&
      request.socket?.bytesRead === this.#bytesReadBefore
    );
  }

  #reject(what: string): void {
    const message = `${this.#deps.target.label} ${what}.`;
    this.#fail({ code: "provider_invalid_response", message });
    this.#request?.destroy();
  }

  #fail(failure: ProviderFailure): void {
    if (!this.#isSettled) {
      this.#settle();
      this.#sink.onFailure(failure);
    }
    this.#closeWhenReleased();
  }

  #settle(): void {
    this.#isSettled = true;
    clearTimeout(this.#connectTimer);
  }

  #closeWhenReleased(): void {
    if (!this.#isSettled || !this.#isReleased || this.#isClosed) return;
    this.#isClosed = true;
    this.#deps.onClosed(this);
    this.#sink.onClosed();
  }
}
