import { pause, timeoutSignal, type World } from "@roomhub/protocol";
import { once } from "node:events";
import type { Server } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { TlsPort } from "./http/tls-port.ts";

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
 * @param tls - takes the connections first; undefined: all of them are plain HTTP
 * @throws NodeJS.ErrnoException `EADDRINUSE` and its like, of the first address
 */
export async function listenOnPort(
  world: World,
  server: Server,
  host: string | undefined,
  port: number,
  tls?: TlsPort,
): Promise<Listening> {
  const connections = new Connections(world, server);
  const accept = (socket: Socket): void => {
    if (tls === undefined) return void server.emit("connection", socket);
    connections.add(socket);
    tls.take(socket, () => connections.remove(socket));
  };
  const first = tls === undefined ? server : portFor(accept);
  const firstHost = host ?? loopback[0];
  await listenOn(first, firstHost, port);
  // The HTTP server begins to check its deadlines when it listens.
  if (tls !== undefined) server.emit("listening");
  const { port: bound } = first.address() as AddressInfo;
  const second = host === undefined ? await tryListen(accept, loopback[1], bound) : undefined;
  return {
    host: firstHost,
    port: bound,
    async close(graceMs, isKept) {
      // Accept connections that already wait at the port: the system would reset them.
      await new Promise<void>((resolve) => world.setImmediate(resolve));
      // Close only the ports: Server's own close() would also drop clients that have not read their whole response.
      NetServer.prototype.close.call(first);
      second?.close();
      await connections.close(graceMs, isKept);
      tls?.close();
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
      if (!this.#open.has(socket)) this.add(socket);
    });
  }

  add(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.remove(socket));
  }

  remove(socket: Socket): void {
    this.#open.delete(socket);
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
  accept: (socket: Socket) => void,
  host: string,
  port: number,
): Promise<NetServer | undefined> {
  const second = portFor(accept);
  try {
    await listenOn(second, host, port);
    return second;
  } catch {
    return undefined; // no ::1 here, or it is in use: 127.0.0.1 is bound, which is what was promised
  }
}

function portFor(accept: (socket: Socket) => void): NetServer {
  return new NetServer({ noDelay: true }, accept);
}
