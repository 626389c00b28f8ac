import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { HubError } from "../errors.ts";
import { rawError } from "./error-response.ts";
import { BrokenConnections } from "./unread-rest.ts";
import type { Duplex } from "node:stream";

/** Bytes that are no HTTP, heads that are too large or too slow: what the parser reports in place of a request. */
export class ParseFailures {
  readonly #newRequestId: () => string;
  readonly #responses = new SocketResponses();
  readonly #broken = new BrokenConnections();

  constructor(newRequestId: () => string) {
    this.#newRequestId = newRequestId;
  }

  /** Each response that begins: into the middle of one nothing else may be written. */
  note(socket: Socket, response: ServerResponse): void {
    this.#responses.note(socket, response);
  }

  onFailure(error: Error & { code?: string }, socket: Socket): void {
    if (this.#broken.isEnded(socket)) return;
    if (!socket.writable || error.code === "ECONNRESET" || this.#responses.isMidResponse(socket)) {
      socket.destroy();
      return;
    }
    this.#broken.end(socket, rawError(hubErrorOf(error.code), this.#newRequestId()));
  }
}

function hubErrorOf(code: string | undefined): HubError {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new HubError("headers_too_large", "The request's headers are too large.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new HubError("request_read_timeout", "The request did not arrive in time.");
    default:
      return new HubError("bad_request", "This is not a well-formed HTTP/1.1 request.");
  }
}

/** Which responses a socket is sending: into the middle of one nothing else may be written. */
export class SocketResponses {
  /** the last one, and those before it that were not finished when it began */
  readonly #responses = new WeakMap<Duplex, ServerResponse[]>();

  note(socket: Duplex, response: ServerResponse): void {
    const responses = this.#responses.get(socket);
    if (responses === undefined) {
      this.#responses.set(socket, [response]);
      return;
    }
    // More than one only where requests are pipelined.
    while (responses[0]?.writableFinished === true) responses.shift();
    responses.push(response);
  }

  isMidResponse(socket: Duplex): boolean {
    const responses = this.#responses.get(socket) ?? [];
    return responses.some((response) => response.headersSent && !response.writableFinished);
  }
}
