import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

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
