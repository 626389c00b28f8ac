/** A TCP proxy that can cut connections and bytes, always in the same places for the same seed. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { createRandom } from "../seeded-random.ts";
import { serveHarness } from "./rpc.ts";

export interface ProxyWish {
  port: number;
  /** what it listens on; any free port when left out */
  listensOn?: number | undefined;
  seed: number;
  /** connections live for about so many bytes to each side; left out: until {@link handlers.cutAll} */
  cutAfterBytes?: number | undefined;
  /** bytes arrive in pieces of at most this, each in a packet of its own */
  pieceBytes?: number | undefined;
}

const open = new Set<{ near: Socket; far: Socket; port: number }>();
let cuts = 0;
let bytesToPort = 0;

const handlers = {
  /** @returns the port to connect to */
  async listen(wish: ProxyWish): Promise<number> {
    const random = createRandom(wish.seed);
    const server = createServer({ noDelay: true }, (near) => forward(near, wish, random));
    await new Promise<void>((resolve) => server.listen(wish.listensOn ?? 0, "127.0.0.1", resolve));
    return (server.address() as AddressInfo).port;
  },
  /** @param how - a reset is how a restarted router responds */
  cutAll(how: "reset" | "destroy") {
    for (const pair of open) cut(pair, how);
  },
  /** The same for connections to one of the ports that it listens on. */
  resetPort(port: number) {
    for (const pair of open) if (pair.port === port) cut(pair, "reset");
  },
  seen: () => ({ open: open.size, cuts, bytesToPort }),
};
export type ProxyHandlers = typeof handlers;

function cut({ near, far }: { near: Socket; far: Socket }, how: "reset" | "destroy"): void {
  for (const socket of [near, far]) {
    if (how === "reset") socket.resetAndDestroy();
    else socket.destroy();
  }
}

function forward(near: Socket, wish: ProxyWish, random: () => number): void {
  const far = connect({ port: wish.port, host: "127.0.0.1", noDelay: true });
  const pair = { near, far, port: near.localPort ?? 0 };
  open.add(pair);
  const end = () => {
    open.delete(pair);
    near.destroy();
    far.destroy();
  };
  for (const socket of [near, far]) socket.on("error", end).on("close", end);
  near.on("data", (bytes: Buffer) => {
    bytesToPort += bytes.length;
  });
  pass(near, far, wish, random);
  pass(far, near, wish, random);
}

function pass(from: Socket, to: Socket, wish: ProxyWish, random: () => number): void {
  const { cutAfterBytes, pieceBytes } = wish;
  let left = cutAfterBytes === undefined ? Infinity : Math.ceil(random() * 2 * cutAfterBytes);
  from.on("data", (bytes: Buffer) => {
    const part = bytes.length > left ? bytes.subarray(0, left) : bytes;
    left -= part.length;
    const isLast = left <= 0;
    if (!writePieces(to, part, pieceBytes, random)) {
      from.pause();
      to.once("drain", () => from.resume());
    }
    if (!isLast) return;
    cuts++;
    // What was forwarded is sent first.
    to.end();
    setTimeout(() => {
      from.destroy();
      to.destroy();
    }, 20);
    from.pause();
  });
}

function writePieces(
  to: Socket,
  bytes: Buffer,
  pieceBytes: number | undefined,
  random: () => number,
): boolean {
  if (pieceBytes === undefined) return to.write(bytes);
  let hasRoom = true;
  for (let at = 0; at < bytes.length;) {
    const length = 1 + Math.floor(random() * pieceBytes);
    hasRoom = to.write(bytes.subarray(at, at + length));
    at += length;
  }
  return hasRoom;
}

serveHarness(handlers);
