import { Agent, type ClientRequestArgs } from "node:http";
import type { Duplex } from "node:stream";
import type { HopDialler, HopTarget } from "./dial.ts";

/** What is idle for longer is closed; the home closes none. */
const idleMs = 60_000;
const maxIdle = 128;

/**
 * Proven connections to one run of one hub, each for one request at a time. Node's own agent keeps them: only how they
 * are opened differs.
 */
export class HopAgent extends Agent {
  readonly target: HopTarget;
  readonly #dialler: HopDialler;
  /** also those that became WebSockets, which Node's agent forgets */
  readonly #sockets = new Set<Duplex>();
  #isCut = false;

  constructor(target: HopTarget, dialler: HopDialler) {
    super({ keepAlive: true, maxFreeSockets: maxIdle, timeout: idleMs, scheduling: "lifo" });
    this.target = target;
    this.#dialler = dialler;
  }

  /** A hub that was thought dead may be there again. */
  isFor({ bootId, linkUrl }: HopTarget): boolean {
    return !this.#isCut && this.target.bootId === bootId && this.target.linkUrl === linkUrl;
  }

  override getName(): string {
    return "hop";
  }

  override createConnection(
    _options: ClientRequestArgs,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    if (callback !== undefined) void this.#open(callback);
    return undefined;
  }

  async #open(opened: (error: Error | null, socket: Duplex) => void): Promise<void> {
    const socket = await this.#dialler.dial(this.target, "requests").catch((error: Error) => error);
    if (socket instanceof Error) return opened(socket, undefined as never);
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    if (this.#isCut) socket.destroy();
    opened(null, socket);
  }

  /** That run of the hub has ended, or this hub does. */
  override destroy(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
    super.destroy();
  }
}
