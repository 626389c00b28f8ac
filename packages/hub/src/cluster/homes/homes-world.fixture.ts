import type { HubIdentity } from "../../domain/hub-identity.ts";
import { createMemoryCluster, type MemoryDirectory } from "../memory-cluster.fixture.ts";

/** A hub process, as its world sees it. */
interface WorldHub {
  readonly self: HubIdentity;
  readonly directory: MemoryDirectory;
  readonly isAlive: boolean;
  readonly isSuspended: boolean;
  carry(call: Call): Promise<void>;
}

/** A request that a client sent to one of the hubs. */
export interface Call {
  at: WorldHub;
  code: string;
  sentMs: number;
  /** the highest that it has seen */
  epoch: number;
  /** the hub that it was sent on to */
  sentTo: HubIdentity | undefined;
  served: { by: WorldHub; epoch: number; ms: number } | undefined;
  error: unknown;
  endedMs: number | undefined;
}

interface Event {
  atMs: number;
  number: number;
  /** waits while this hub is suspended, and never happens once it is dead */
  on: WorldHub | undefined;
  run: () => void;
}

/** Several hubs, the directory and the time, in one process: messages take some ms, hubs die, stop and are suspended. */
export class HomesWorld<Hub extends WorldHub = WorldHub> {
  nowMs = 0;
  readonly nodes: Hub[] = [];
  readonly calls: Call[] = [];
  readonly rooms = new Set<string>();
  readonly directories = createMemoryCluster();
  /** what the hubs' calls arrive at, late or not */
  readonly server = this.directories.directory({ every: () => () => undefined });
  readonly bugs: unknown[] = [];
  readonly violations: string[] = [];
  /** who served in which epoch */
  readonly #servedBy = new Map<string, WorldHub>();
  readonly #random: () => number;
  #events: Event[] = [];
  #number = 0;

  /** @param random - uniform in `[0, 1)` */
  constructor(random: () => number = () => 0.5) {
    this.#random = random;
  }

  latency(): number {
    return 1 + Math.floor(this.#random() * 9);
  }

  after(ms: number, on: WorldHub | undefined, run: () => void): void {
    this.#events.push({ atMs: this.nowMs + ms, number: (this.#number += 1), on, run });
  }

  /** Before the first hub. */
  async begin(): Promise<void> {
    await this.server.open(undefined);
  }

  async run(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    await settled();
    for (let event = this.#next(untilMs); event !== undefined; event = this.#next(untilMs)) {
      this.nowMs = Math.max(this.nowMs, event.atMs);
      event.run();
      await settled();
    }
    this.nowMs = untilMs;
  }

  async runUntil(isDone: () => boolean, limitMs: number): Promise<void> {
    for (const startMs = this.nowMs; !isDone() && this.nowMs - startMs < limitMs;)
      await this.run(10);
  }

  request(at: WorldHub, code: string): Call {
    const sent = { sentMs: this.nowMs, epoch: 0, sentTo: undefined, endedMs: undefined };
    const call: Call = { at, code, ...sent, served: undefined, error: undefined };
    this.calls.push(call);
    this.rooms.add(code);
    this.after(0, at, () => void at.carry(call));
    return call;
  }

  serve(call: Call, by: WorldHub, epoch: number): void {
    const key = `${call.code} ${epoch}`;
    const owner = this.#servedBy.get(key) ?? by;
    this.#servedBy.set(key, owner);
    if (owner !== by) this.violations.push(`two hubs serve ${call.code} in epoch ${epoch}`);
    if (epoch < call.epoch) this.violations.push("served in an epoch that is over");
    if (call.endedMs !== undefined && by.isAlive && call.at.isAlive)
      this.violations.push("served after its end");
    call.served = { by, epoch, ms: this.nowMs };
    call.endedMs = this.nowMs;
  }

  fail(call: Call, error: unknown): void {
    call.error = error;
    call.endedMs = this.nowMs;
  }

  /** The directory restarts without what it had. */
  async empty(): Promise<void> {
    for (const node of this.alive()) node.directory.cutOff();
    for (const code of this.rooms) {
      const stored = await this.server.readHome(code);
      if (stored !== undefined) await this.server.deleteHome(code, stored.revision);
    }
    for (const node of this.alive()) node.directory.heal();
  }

  alive(): Hub[] {
    return this.nodes.filter(({ isAlive }) => isAlive);
  }

  #next(untilMs: number): Event | undefined {
    this.#events = this.#events.filter(({ on }) => on === undefined || on.isAlive);
    let next: Event | undefined;
    for (const event of this.#events) {
      if (event.on?.isSuspended === true || event.atMs > untilMs) continue;
      if (next === undefined || isBefore(event, next)) next = event;
    }
    if (next !== undefined) this.#events.splice(this.#events.indexOf(next), 1);
    return next;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.number < other.number);
}
