import type { Agent } from "node:http";
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

/** For one request at a time, and perhaps for one after another. */
export interface ProviderSocket {
  readonly socket: Socket;
  /** A response has come on it before: the provider may have closed it meanwhile. */
  readonly isReused: boolean;
}

/**
 * Sockets by target, the newest first. Node's agent does the same with three copies of a request's options and its own
 * events, which costs more than the request (docs/performance.md).
 */
export class SocketPool {
  readonly #lookup: LookupFunction;
  readonly #idle = new Map<ProviderTarget, KeptSocket[]>();
  readonly #sessions = new WeakMap<ProviderTarget, Buffer>();
  #sweep: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(lookup: LookupFunction) {
    this.#lookup = lookup;
  }

  /** One that is kept, or a new one that is kept later on. */
  take(target: ProviderTarget): ProviderSocket {
    const idle = this.#idle.get(target);
    for (let kept = idle?.pop(); kept !== undefined; kept = idle?.pop()) {
      if (!kept.socket.destroyed) return kept.use();
    }
    return new KeptSocket(this.open(target).socket, (kept) => this.#keep(target, kept));
  }

  /** A new one, for a single request. */
  open(target: ProviderTarget): ProviderSocket {
    const options = dialOptions(target, this.#lookup);
    const socket = target.isSecure ? this.#openSecure(target, options) : connect(options);
    // The request hears of it. Without a listener an error between two requests would end the process.
    socket.on("error", ignore);
    return { socket, isReused: false };
  }

  /** Closes those that are idle, now and later. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#sweep);
    for (const idle of this.#idle.values()) {
      for (const { socket } of idle) socket.destroy();
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

  /** @returns false when there are enough */
  #keep(target: ProviderTarget, kept: KeptSocket): boolean {
    let idle = this.#idle.get(target);
    if (idle === undefined) this.#idle.set(target, (idle = []));
    if (this.#isClosed || idle.length === maxIdlePerTarget) return false;
    idle.push(kept);
    this.#sweep ??= setTimeout(() => this.#dropOld(), idleSocketMs).unref();
    return true;
  }

  /** One timer for all: those of a target stand in the order in which they became idle. */
  #dropOld(): void {
    const nowMs = performance.now();
    let oldestMs = nowMs;
    for (const [target, idle] of this.#idle) {
      const firstYoung = idle.findIndex(({ idleSinceMs }) => nowMs - idleSinceMs < idleSocketMs);
      const old = idle.splice(0, firstYoung < 0 ? idle.length : firstYoung);
      for (const { socket } of old) socket.destroy();
      if (idle[0] === undefined) this.#idle.delete(target);
      else oldestMs = Math.min(oldestMs, idle[0].idleSinceMs);
    }
    const isEmpty = this.#idle.size === 0;
    const nextMs = Math.max(1, Math.ceil(oldestMs + idleSocketMs - nowMs));
    this.#sweep = isEmpty ? undefined : setTimeout(() => this.#dropOld(), nextMs).unref();
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

class KeptSocket implements ProviderSocket {
  readonly socket: Socket;
  isReused = false;
  idleSinceMs = 0;
  #isIdle = false;

  /** @param keep - whether it may be used once more, which {@link use} decides */
  constructor(socket: Socket, keep: (kept: KeptSocket) => boolean) {
    this.socket = socket;
    // Emitted by Node's request: the response is whole and the server keeps the connection, or no request was written.
    socket.on("free", () => {
      if (this.#isIdle) return;
      this.#isIdle = true;
      this.idleSinceMs = performance.now();
      if (socket.connecting || !socket.writable || !keep(this)) socket.destroy();
    });
    // Unrequested bytes would become the beginning of the next request's response.
    socket.on("data", () => {
      if (this.#isIdle) socket.destroy();
    });
  }

  use(): this {
    this.#isIdle = false;
    this.isReused = true;
    return this;
  }
}

function ignore(): void {}

/**
 * In the place of an agent: such a request gets its socket from its caller. Node needs no more of an agent than
 * this; what it does with the socket afterwards depends on `keepAlive`.
 */
function agentWithoutSockets(keepAlive: boolean): Agent {
  const waiting = {
    ...{ keepAlive, maxSockets: Number.POSITIVE_INFINITY, defaultPort: 80, protocol: "http:" },
    addRequest() {},
  };
  return waiting as unknown as Agent;
}

export const keepingAgent = agentWithoutSockets(true);
export const closingAgent = agentWithoutSockets(false);
