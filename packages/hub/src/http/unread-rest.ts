import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";

/** What a client may still send after its response, and for how long. */
export interface RestLimits {
  bytes: number;
  ms: number;
}

const defaultLimits: RestLimits = { bytes: 256 * 1024 * 1024, ms: 10_000 };

/**
 * Lets a client finish sending a body that was refused. A connection that is closed with bytes unread is reset, and the
 * client loses the response that says why.
 */
export function discardRest(request: IncomingMessage, limits: RestLimits = defaultLimits): void {
  const { socket } = request;
  const mostBytes = socket.bytesRead + limits.bytes;
  const timer = setTimeout(() => socket.destroy(), limits.ms).unref();
  request.on("close", () => clearTimeout(timer));
  request.on("data", () => {
    if (socket.bytesRead > mostBytes) socket.destroy();
  });
  request.resume();
  // `node:http` calls this after the last response of a connection, which closes it with bytes unread.
  socket.destroySoon = () => {
    if (request.complete) return closeWhenSent(socket);
    socket.end();
    request.once("close", () => closeWhenSent(socket));
  };
}

/** Connections on which no further request can be read. */
export class BrokenConnections {
  readonly #limits: RestLimits;
  readonly #mostBytes = new WeakMap<Socket, number>();

  constructor(limits: RestLimits = defaultLimits) {
    this.#limits = limits;
  }

  /** Whether it was ended before. The parser reports each chunk that still comes: what exceeds the limit is cut. */
  isEnded(socket: Socket): boolean {
    const mostBytes = this.#mostBytes.get(socket);
    if (mostBytes === undefined) return false;
    if (socket.bytesRead > mostBytes) socket.destroy();
    return true;
  }

  /** Sends the last bytes and ends this side; the other side has time to read them. */
  end(socket: Socket, lastBytes: string): void {
    this.#mostBytes.set(socket, socket.bytesRead + this.#limits.bytes);
    const timer = setTimeout(() => socket.destroy(), this.#limits.ms).unref();
    socket.once("close", () => clearTimeout(timer));
    socket.end(lastBytes);
  }
}

function closeWhenSent(socket: Socket): void {
  Socket.prototype.destroySoon.call(socket);
}
