import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FlushingResponses } from "./flushing-responses.ts";

/** How much, and for how long, a client may still send after its response. */
export interface RestLimits {
  bytes: number;
  ms: number;
}

const defaultLimits: RestLimits = { bytes: 256 * 1024 * 1024, ms: 10_000 };

/**
 * Lets a client finish sending a refused body. Closing a connection with unread bytes resets it, and the client would
 * lose the response.
 */
export function discardRest(
  flushing: FlushingResponses,
  request: IncomingMessage,
  limits: RestLimits = defaultLimits,
): void {
  const { socket } = request;
  const mostBytes = socket.bytesRead + limits.bytes;
  flushing.cutLater(socket, limits.ms, request);
  request.on("data", () => {
    if (socket.bytesRead > mostBytes) socket.destroy();
  });
  request.resume();
  // `node:http` calls this after the last response of a connection, which would close it with unread bytes.
  socket.destroySoon = () => {
    if (request.complete) return closeWhenSent(socket);
    socket.end();
    request.once("close", () => closeWhenSent(socket));
  };
}

/** Connections on which no further request can be read. */
export class BrokenConnections {
  readonly #flushing: FlushingResponses;
  readonly #limits: RestLimits;
  readonly #mostBytes = new WeakMap<Socket, number>();

  constructor(flushing: FlushingResponses, limits: RestLimits = defaultLimits) {
    this.#flushing = flushing;
    this.#limits = limits;
  }

  /**
   * Whether the connection was ended before. The parser reports each further chunk: beyond the limit the connection is
   * cut.
   */
  isEnded(socket: Socket): boolean {
    const mostBytes = this.#mostBytes.get(socket);
    if (mostBytes === undefined) return false;
    if (socket.bytesRead > mostBytes) socket.destroy();
    return true;
  }

  /** Sends the last bytes and ends this side, so that the client can read them. */
  end(socket: Socket, lastBytes: string): void {
    this.#mostBytes.set(socket, socket.bytesRead + this.#limits.bytes);
    this.#flushing.cutLater(socket, this.#limits.ms);
    socket.end(lastBytes);
  }
}

function closeWhenSent(socket: Socket): void {
  Socket.prototype.destroySoon.call(socket);
}
