import { connect } from "node:net";
import { until } from "../../support/waiting.ts";
import type { Child, Children } from "../child.ts";
import type { Machine } from "./network.ts";

const port = 4222;

/** A nats-server with JetStream on a machine of its own, its files in a folder. */
export class Nats {
  readonly url: string;
  readonly #children: Children;
  readonly #machine: Machine;
  readonly #folder: string;
  #process: Child | undefined;

  constructor(children: Children, machine: Machine, folder: string) {
    this.#children = children;
    this.#machine = machine;
    this.#folder = folder;
    this.url = `nats://${machine.address}:${port}`;
  }

  /** Resolves when it accepts connections. */
  async start(): Promise<void> {
    const { prefix, address } = this.#machine;
    const [command = "", ...args] = prefix;
    const server = ["nats-server", "-a", address, "-p", String(port), "-js", "-sd", this.#folder];
    this.#process = this.#children.command([command, ...args, ...server], `${this.#folder}.log`);
    await until("nats-server to accept", () => isAccepted(address), Boolean);
  }

  /** As when its power is cut. */
  async kill(): Promise<void> {
    await this.#process?.kill("SIGKILL");
  }
}

function isAccepted(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const settle = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.on("connect", () => settle(true)).on("error", () => settle(false));
  });
}
