import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { pauseMs } from "../figure.ts";
import { sharedNowMs } from "../shared-clock.ts";
import { hubPort } from "./cluster-hub.ts";
import type { Machine } from "./network.ts";

const run = promisify(execFile);

/** A connection of an agent to a hub, while it was seen. On the shared clock. */
interface Seen {
  hub: string;
  fromMs: number;
  untilMs: number;
  sentBytes: number;
}

const sampleMs = 250;
/** An agent that serves requests sends far more through its tunnel, and far less through its other connections. */
const tunnelBytes = 32 * 1024;
/** A connection that was closed is there until the next sample. */
const closingMs = 1_000;

/** The connections of agents to hubs, as the kernel of their machines has them, sample by sample. */
export class AgentTunnels implements AsyncDisposable {
  /** by machine, then by the connection's own address */
  readonly #seen = new Map<Machine, Map<string, Seen>>();
  readonly #looking: Promise<void>;
  #isOver = false;

  constructor(machines: readonly Machine[]) {
    for (const machine of machines) this.#seen.set(machine, new Map());
    this.#looking = this.#look();
  }

  /** How many tunnels there were. */
  get count(): number {
    return [...this.#seen.values()].reduce((sum, seen) => sum + tunnelsOf(seen).length, 0);
  }

  /** Two tunnels of one agent at the same time, in words. */
  overlaps(): string[] {
    return [...this.#seen].flatMap(([{ name }, seen]) => {
      const tunnels = tunnelsOf(seen);
      return tunnels.flatMap(({ hub, fromMs }, index) => {
        const before = tunnels[index - 1];
        const bothMs = (before?.untilMs ?? 0) - fromMs;
        return bothMs > closingMs
          ? [`${name} had tunnels to ${before?.hub} and ${hub} for ${Math.round(bothMs)} ms`]
          : [];
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  async #look(): Promise<void> {
    while (!this.#isOver) {
      await Promise.all([...this.#seen].map(([machine, seen]) => sample(machine, seen)));
      await pauseMs(sampleMs);
    }
  }
}

function tunnelsOf(seen: ReadonlyMap<string, Seen>): Seen[] {
  const tunnels = [...seen.values()].filter(({ sentBytes }) => sentBytes >= tunnelBytes);
  return tunnels.sort((one, other) => one.fromMs - other.fromMs);
}

async function sample({ prefix }: Machine, seen: Map<string, Seen>): Promise<void> {
  const [command = "", ...args] = prefix;
  const list = ["ss", "-tniHO", "state", "established", `dport = :${hubPort}`];
  const nowMs = sharedNowMs();
  const { stdout } = await run(command, [...args, ...list]);
  for (const line of stdout.split("\n")) {
    const [, , local = "", hub = ""] = line.trim().split(/\s+/);
    if (hub === "") continue;
    const one = seen.get(local) ?? { hub, fromMs: nowMs, untilMs: nowMs, sentBytes: 0 };
    one.untilMs = nowMs;
    one.sentBytes = Number(/bytes_sent:(\d+)/.exec(line)?.[1] ?? 0);
    seen.set(local, one);
  }
}
