import type { Duplex } from "node:stream";

const closeMs = 1_000;

/** What was written last is still to arrive: a connection that is closed with bytes unread is reset. */
export function closeSoon(socket: Duplex): void {
  socket.end();
  setTimeout(() => socket.destroy(), closeMs).unref();
}
