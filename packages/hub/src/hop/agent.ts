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

  constructor(target: HopTarget, dialler: HopDialler) {
    super({ keepAlive: true, maxFreeSockets: maxIdle, timeout: idleMs, scheduling: "lifo" });
    this.target = target;
    this.#dialler = dialler;
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
    if (socket instanceof Error) opened(socket, undefined as never);
    else opened(null, socket);
  }
}
