import { pause, timeoutSignal, type World } from "@roomhub/protocol";
import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";

/** Both families of this machine, so that `localhost` works whatever it resolves to. */
const loopback = ["127.0.0.1", "::1"] as const;

export interface Listening {
  host: string;
  port: number;
  /**
   * Accepts no new connections. Idle connections end at once, others when their responses are sent; connections still
   * open after `graceMs` are cut, upgraded or not.
   *
   * @param isKept - a connection that is not cut yet: asked until it closes or is cut
   */
  close(graceMs: number, isKept?: (connection: Socket) => boolean): Promise<void>;
}

/** How often closing connections are checked. */
const closingStepMs = 10;
/** A new connection is about to send a request, and has this long to get the response that says the hub is stopping. */
const unusedMs = 100;
/** So often it is looked for at least: in a process that stood still, what it has sent is still to be read. */
const unusedChecks = 5;

/**
 * Binds an HTTP server. Without a host: 127.0.0.1, and ::1 on the same port where the machine has it.
 *
 * @throws NodeJS.ErrnoException `EADDRINUSE` and its like, of the first address
 */
export async function listenOnPort(
  world: World,
  server: Server,
  host: string | undefined,
  port: number,
): Promise<Listening> {
  const connections = new Connections(world, server);
  const first = host ?? loopback[0];
  await listenOn(server, first, port);
  const { port: bound } = server.address() as AddressInfo;
  const second = host === undefined ? await tryListen(server, loopback[1], bound) : undefined;
  return {
    host: first,
    port: bound,
    async close(graceMs, isKept) {
      // Accept connections that already wait at the port: the system would reset them.
      await new Promise<void>((resolve) => world.setImmediate(resolve));
      // Close only the ports: Server's own close() would also drop clients that have not read their whole response.
      NetServer.prototype.close.call(server);
      second?.close();
      await connections.close(graceMs, isKept);
      server.close();
    },
  };
}

/** All connections of a server, of both families, WebSockets included. */
class Connections {
  readonly #world: World;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  constructor(world: World, server: Server) {
    this.#world = world;
    this.#server = server;
    server.on("connection", (socket) => {
      this.#open.add(socket);
      socket.once("close", () => this.#open.delete(socket));
    });
  }

  async close(graceMs: number, isKept = (_connection: Socket) => false): Promise<void> {
    const unusedOver = timeoutSignal(this.#world, unusedMs);
    let checks = 0;
    const graceOver = timeoutSignal(this.#world, graceMs);
    for (;;) {
      this.#closeQuiet(unusedOver.aborted && ++checks > unusedChecks);
      if (graceOver.aborted) this.#cut(isKept);
      if (this.#open.size === 0) return;
      await pause(this.#world, closingStepMs);
      // After a timer, what has arrived is not read yet.
      await new Promise<void>((resolve) => void this.#world.setImmediate(resolve));
    }
  }

  #cut(isKept: (connection: Socket) => boolean): void {
    for (const socket of [...this.#open].filter((one) => !isKept(one))) {
      socket.destroy();
      this.#open.delete(socket);
    }
  }

  /** @param isUnusedOver - also connections that have sent nothing */
  #closeQuiet(isUnusedOver: boolean): void {
    const open = [...this.#open];
    const unused = open.filter((socket) => socket.bytesRead === 0);
    if (unused.length > 0 && !isUnusedOver) return;
    // A browser opens connections in advance.
    for (const socket of unused) socket.destroy();
    // Node counts a response as finished when the socket has it, even while most of it is still in the socket's buffer.
    if (open.every((socket) => socket.writableLength === 0)) this.#server.closeIdleConnections();
  }
}

async function listenOn(server: NetServer, host: string, port: number): Promise<void> {
  server.listen({ port, host });
  await once(server, "listening");
}

/** A machine without IPv6 loses nothing. */
async function tryListen(
  server: Server,
  host: string,
  port: number,
): Promise<NetServer | undefined> {
  const second = new NetServer({ noDelay: true }, (socket) => server.emit("connection", socket));
  try {
    await listenOn(second, host, port);
    return second;
  } catch {
    return undefined; // no ::1 here, or it is in use: 127.0.0.1 is bound, which is what was promised
  }
}
