import type { Sending, Timer, World } from "@roomhub/protocol";
import { connect, isIP, type LookupFunction, type Socket, type TcpNetConnectOpts } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { ProviderTarget } from "./target.ts";

/** Contract §3: servers drop idle sockets after 5 s (Node's default); ours go before that. */
const idleSocketMs = 4_000;
const maxIdlePerTarget = 256;

/**
 * How long each address but the last is tried. With Node's 250 ms a busy server is given up too early: when its queue of
 * connections is full the first packet is lost, and the system sends it again after 1 s.
 */
const addressAttemptMs = 3_000;

/** A provider that is silent for longer is probed by the system, so that one whose machine is away is noticed. */
const aliveProbeMs = 1_000;

/** What happens on a socket while a request uses it. */
export interface SocketUser {
  /** also after TLS */
  onConnected(): void;
  onData(chunk: Buffer): void;
  onDrain(): void;
  /** The server sends nothing more. */
  onEnd(): void;
  /** Last. @param error - why, unless one side closed it in order */
  onClosed(error: NodeJS.ErrnoException | undefined): void;
}

/**
 * Sockets by target, the newest first.
 */
export class SocketPool {
  readonly #lookup: LookupFunction;
  readonly #idle = new Map<ProviderTarget, PooledSocket[]>();
  readonly #sessions = new WeakMap<ProviderTarget, Buffer>();
  readonly #world: World;
  #sweep: Timer | undefined;
  #isClosed = false;

  constructor(lookup: LookupFunction, world: World) {
    this.#lookup = lookup;
    this.#world = world;
  }

  /** One that is kept, or a new one. */
  take(target: ProviderTarget, user: SocketUser): PooledSocket {
    const idle = this.#idle.get(target);
    for (let kept = idle?.pop(); kept !== undefined; kept = idle?.pop()) {
      if (kept.use(user)) return kept;
    }
    return this.open(target, user);
  }

  /** A new one. */
  open(target: ProviderTarget, user: SocketUser): PooledSocket {
    const options = dialOptions(target, this.#lookup);
    const socket = target.isSecure ? this.#openSecure(target, options) : connect(options);
    return new PooledSocket(socket, target.isSecure ? "secureConnect" : "connect", user);
  }

  /** For another request: its response is whole, and the server keeps the connection. */
  keep(target: ProviderTarget, socket: PooledSocket): void {
    let idle = this.#idle.get(target);
    if (idle === undefined) this.#idle.set(target, (idle = []));
    if (this.#isClosed || idle.length === maxIdlePerTarget) return socket.destroy();
    socket.rest(this.#world.monotonicMs());
    idle.push(socket);
    this.#sweep ??= this.#sweepIn(idleSocketMs);
  }

  #sweepIn(ms: number): Timer {
    return this.#world.unref(this.#world.setTimeout(() => this.#dropOld(), ms));
  }

  /** Closes idle sockets, now and later. */
  close(): void {
    this.#isClosed = true;
    this.#world.clearTimeout(this.#sweep);
    for (const idle of this.#idle.values()) {
      for (const socket of idle) socket.destroy();
    }
    this.#idle.clear();
  }

  #openSecure(target: ProviderTarget, options: TcpNetConnectOpts): TLSSocket {
    const { hostname } = target;
    const socket = connectTls({
      ...options,
      servername: isIP(hostname) === 0 ? hostname : "",
      ALPNProtocols: ["http/1.1"],
      session: this.#sessions.get(target),
    });
    socket.on("session", (session: Buffer) => this.#sessions.set(target, session));
    return socket.setNoDelay(true).setKeepAlive(true, aliveProbeMs);
  }

  /** One timer for all: those of a target stand in the order in which they became idle. */
  #dropOld(): void {
    const nowMs = this.#world.monotonicMs();
    let oldestMs = nowMs;
    for (const [target, idle] of this.#idle) {
      const firstYoung = idle.findIndex(({ idleSinceMs }) => nowMs - idleSinceMs < idleSocketMs);
      const old = idle.splice(0, firstYoung < 0 ? idle.length : firstYoung);
      for (const socket of old) socket.destroy();
      if (idle[0] === undefined) this.#idle.delete(target);
      else oldestMs = Math.min(oldestMs, idle[0].idleSinceMs);
    }
    const isEmpty = this.#idle.size === 0;
    const nextMs = Math.max(1, Math.ceil(oldestMs + idleSocketMs - nowMs));
    this.#sweep = isEmpty ? undefined : this.#sweepIn(nextMs);
  }
}

export function dialOptions(
  { hostname, port }: ProviderTarget,
  lookup: LookupFunction,
): TcpNetConnectOpts {
  return {
    ...{ host: hostname, port, lookup, noDelay: true },
    ...{ keepAlive: true, keepAliveInitialDelay: aliveProbeMs },
    ...{ autoSelectFamily: true, autoSelectFamilyAttemptTimeout: addressAttemptMs },
  };
}

/** For one request at a time, and perhaps for one after another. */
export class PooledSocket implements Sending {
  readonly socket: Socket;
  /** A response has come on it before: the provider may have closed it meanwhile. */
  isReused = false;
  idleSinceMs = 0;
  /** undefined while it is idle */
  #user: SocketUser | undefined;
  #error: NodeJS.ErrnoException | undefined;

  constructor(socket: Socket, connected: "connect" | "secureConnect", user: SocketUser) {
    this.socket = socket;
    this.#user = user;
    socket.once(connected, () => this.#user?.onConnected());
    socket.on("drain", () => this.#user?.onDrain());
    socket.on("data", (chunk: Buffer) => {
      // Unrequested bytes would become the beginning of the next request's response.
      if (this.#user === undefined) socket.destroy();
      else this.#user.onData(chunk);
    });
    socket.on("end", () => this.#user?.onEnd());
    // `close` follows. Without a listener an error between two requests would end the process.
    socket.on("error", (error) => {
      this.#error = error;
    });
    socket.on("close", () => this.#user?.onClosed(this.#error));
  }

  /** @returns false when the server has closed it meanwhile */
  use(user: SocketUser): boolean {
    const { socket } = this;
    if (socket.destroyed || !socket.writable || socket.readableEnded) return false;
    this.#user = user;
    this.isReused = true;
    return true;
  }

  /** What was written since it was corked. */
  send(): void {
    this.socket.uncork();
  }

  rest(nowMs: number): void {
    this.#user = undefined;
    // The reader of its response may have been behind at the end.
    if (this.socket.isPaused()) this.socket.resume();
    this.idleSinceMs = nowMs;
  }

  destroy(): void {
    this.socket.destroy();
  }
}
