import type { Duplex } from "node:stream";

const closeMs = 1_000;

/** Lets the last bytes arrive: closing a connection with unread bytes resets it. */
export function closeSoon(socket: Duplex): void {
  socket.end();
  setTimeout(() => socket.destroy(), closeMs).unref();
}
