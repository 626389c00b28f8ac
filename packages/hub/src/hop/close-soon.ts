import type { World } from "@roomhub/protocol";
import type { Duplex } from "node:stream";

const closeMs = 1_000;

/** Lets the last bytes arrive: closing a connection with unread bytes resets it. */
export function closeSoon(world: World, socket: Duplex): void {
  socket.end();
  world.unref(world.setTimeout(() => socket.destroy(), closeMs));
}
