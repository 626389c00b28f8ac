import { TurnEnd, type World } from "@roomhub/protocol";
import { type PooledSocket, ResponseHeads, type SocketUser } from "@roomhub/provider";
import type { Socket } from "node:net";

const maxIdle = 128;

/** Connections to one server, each for one request at a time. */
export class HopPool {
  readonly heads = new ResponseHeads();
  readonly turnEnd: TurnEnd;
  readonly #open: () => Promise<Socket>;
  readonly #world: World;
  readonly #idleMs: number;
  /** including connections that became WebSockets */
  readonly #sockets = new Set<Socket>();
  /** the last one that was used at the end */
  readonly #idle: PooledSocket[] = [];
  #isCut = false;

  /**
   * @param open - opens a connection, or says why not
   * @param idleMs - what is idle for longer is closed
   */
  constructor(open: () => Promise<Socket>, world: World, idleMs: number) {
    this.#open = open;
    this.#world = world;
    this.turnEnd = new TurnEnd(world);
    this.#idleMs = idleMs;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  /** An idle one. */
  take(user: SocketUser): PooledSocket | undefined {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      if (kept.use(user)) return kept;
    }
    return undefined;
  }

  /** A new one. @throws Error that says why the server was not reached */
  async dial(): Promise<Socket> {
    const socket = await this.#open();
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    if (!this.#isCut) return socket;
    socket.destroy();
    throw new Error("the hub is not there any more");
  }

  /** {@link dial} as Node's client calls it. */
  readonly createConnection = (
    _options: unknown,
    opened: (error: Error | null, socket: Socket) => void,
  ): undefined => {
    this.dial().then(
      (socket) => opened(null, socket),
      (error: Error) => opened(error, undefined as never),
    );
  };

  /** The response to its request is whole. */
  keep(socket: PooledSocket): void {
    if (this.#isCut || this.#idle.length === maxIdle) return socket.destroy();
    socket.rest(this.#world.monotonicMs());
    this.#idle.push(socket);
  }

  dropOld(): void {
    const nowMs = this.#world.monotonicMs();
    const firstYoung = this.#idle.findIndex(
      ({ idleSinceMs }) => nowMs - idleSinceMs < this.#idleMs,
    );
    const old = this.#idle.splice(0, firstYoung < 0 ? this.#idle.length : firstYoung);
    for (const socket of old) socket.destroy();
  }

  /** Cuts all of them, for good. */
  destroy(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}
