import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { HubError } from "../errors.ts";
import { rawError } from "./error-response.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import { BrokenConnections } from "./unread-rest.ts";
import type { Duplex } from "node:stream";

/** What the parser reports in place of a request: bytes that are not HTTP, heads that are too large or too slow. */
export class ParseFailures {
  readonly #newRequestId: () => string;
  readonly #responses = new SocketResponses();
  readonly #broken: BrokenConnections;

  constructor(newRequestId: () => string, flushing: FlushingResponses) {
    this.#newRequestId = newRequestId;
    this.#broken = new BrokenConnections(flushing);
  }

  /** Notes each response that begins: nothing else may be written into the middle of one. */
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

/** Which responses a socket is sending: nothing else may be written into the middle of one. */
export class SocketResponses {
  /** the last response, and earlier ones that were unfinished when it began */
  readonly #responses = new WeakMap<Duplex, ServerResponse[]>();

  note(socket: Duplex, response: ServerResponse): void {
    const responses = this.#responses.get(socket);
    if (responses === undefined) {
      this.#responses.set(socket, [response]);
      return;
    }
    // There is more than one only when requests are pipelined.
    while (responses[0]?.writableFinished === true) responses.shift();
    responses.push(response);
  }

  isMidResponse(socket: Duplex): boolean {
    const responses = this.#responses.get(socket) ?? [];
    return responses.some((response) => response.headersSent && !response.writableFinished);
  }
}
