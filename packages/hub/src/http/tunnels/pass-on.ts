import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { HubError } from "../../errors.ts";

/**
 * Passes a handshake, and what follows on its connection, to a worker of the same port on this machine. Nothing of it is read.
 *
 * @returns a promise that rejects while the other side has not responded: the caller still owns the socket then
 */
export function passOn(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  port: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const other = connect({ host: "127.0.0.1", port, noDelay: true });
    other.once("error", (cause) => {
      reject(
        new HubError("peer_unavailable", "The worker that has this session does not respond.", {
          hint: "Try again in a moment; agents reconnect by themselves.",
          cause,
        }),
      );
    });
    other.once("connect", () => {
      other.removeAllListeners("error");
      other.on("error", () => socket.destroy());
      other.once("close", () => socket.destroy());
      socket.once("close", () => other.destroy());
      other.write(handshakeOf(request));
      if (head.length > 0) other.write(head);
      socket.pipe(other).pipe(socket);
      resolve();
    });
  });
}

/** As it came. */
function handshakeOf({ method, url, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
}
