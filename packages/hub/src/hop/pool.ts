import type { World } from "@roomhub/protocol";
import { type PooledSocket, ResponseHeads, type SocketUser } from "@roomhub/provider";
import type { Socket } from "node:net";
import type { HopDialler, HopTarget } from "./dial.ts";

/** What is idle for longer is closed; the home closes none. */
const idleMs = 60_000;
const maxIdle = 128;

/** Proven connections to one run of one hub, each for one request at a time. */
export class HopPool {
  readonly target: HopTarget;
  readonly heads = new ResponseHeads();
  readonly #dialler: HopDialler;
  readonly #world: World;
  /** including connections that became WebSockets */
  readonly #sockets = new Set<Socket>();
  /** the last one that was used at the end */
  readonly #idle: PooledSocket[] = [];
  #isCut = false;

  constructor(target: HopTarget, dialler: HopDialler, world: World) {
    this.target = target;
    this.#dialler = dialler;
    this.#world = world;
  }

  /** A hub that was thought dead may be there again. */
  isFor({ bootId, linkUrl }: HopTarget): boolean {
    return !this.#isCut && this.target.bootId === bootId && this.target.linkUrl === linkUrl;
  }

  /** An idle one. */
  take(user: SocketUser): PooledSocket | undefined {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      if (kept.use(user)) return kept;
    }
    return undefined;
  }

  /** A new one. @throws Error that says why the hub was not reached */
  async dial(): Promise<Socket> {
    const socket = await this.#dialler.dial(this.target, "requests");
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
    const firstYoung = this.#idle.findIndex(({ idleSinceMs }) => nowMs - idleSinceMs < idleMs);
    const old = this.#idle.splice(0, firstYoung < 0 ? this.#idle.length : firstYoung);
    for (const socket of old) socket.destroy();
  }

  /** That run of the hub has ended, or this hub does. */
  destroy(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }
}
