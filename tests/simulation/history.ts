import type { createHub, fileRoomStore, Hub } from "@roomhub/hub";
import type { createParticipant, Participant } from "@roomhub/participant";
import type {
  createMemoryCluster,
  MemoryDirectory,
} from "../../packages/hub/src/cluster/memory-cluster.fixture.ts";
import type { DirectoryUnavailable } from "../../packages/hub/src/cluster/directory.ts";
import { EventWatcher } from "./actors/event-watcher.ts";
import {
  type Acknowledged,
  createRoom,
  isThere,
  makeChange,
  type OwnedRoom,
} from "./actors/room-owner.ts";
import { ScriptedServer } from "./actors/scripted-server.ts";
import { type Outcome, sendPlanned } from "./actors/simulated-client.ts";
import type { Fault, Plan, PlannedAgent, PlannedChange, PlannedRequest } from "./plan.ts";
import { DirectoryLine, type DirectoryWeather } from "./platform/directory-line.ts";
import { Disk, diskRoot } from "./platform/disk.ts";
import { usePlatform } from "./platform/install.ts";
import { Network } from "./platform/network.ts";
import { Machine, Scheduler } from "./platform/scheduler.ts";

/** The product, loaded after the platform was replaced. */
export interface Product {
  createHub: typeof createHub;
  fileRoomStore: typeof fileRoomStore;
  createParticipant: typeof createParticipant;
  createMemoryCluster: typeof createMemoryCluster;
  DirectoryUnavailable: typeof DirectoryUnavailable;
}

const hubPort = 5050;
const modelPort = 8080;

/** How long everything may take to be as before once the last fault has ended. */
const recoveryMs = 120_000;

/** What a hub said of a participant after everything had recovered. */
export interface ListedParticipant {
  id: string;
  status: string;
  connection: { connected: boolean; readiness: string; resuming?: object; problem?: string };
  load: { active: number; queued: number };
}

interface HubProcess {
  readonly machine: Machine;
  hub: Hub | undefined;
  directory: MemoryDirectory | undefined;
  readonly directoryWeather: DirectoryWeather;
  readonly log: string[];
  /** how often it was killed */
  kills: number;
}

interface AgentProcess {
  readonly machine: Machine;
  readonly id: string;
  readonly model: string;
  readonly slots: number;
  readonly budget: PlannedAgent["budget"];
  readonly context: PlannedAgent["context"];
  readonly server: ScriptedServer;
  participant: Participant | undefined;
  starts: number;
}

/** One run of the whole system from a plan, and what was seen of it. */
export class History {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly hubs: HubProcess[] = [];
  readonly agents: AgentProcess[] = [];
  readonly watchers: EventWatcher[] = [];
  readonly outcomes: Outcome[] = [];
  /** of one request at each hub, once everything had recovered */
  readonly lateOutcomes: { hub: string; outcome: Outcome }[] = [];
  /** by hub, once all is over; undefined when it did not respond */
  readonly listings: (ListedParticipant[] | undefined)[] = [];
  /** when agents and hubs begin to stop, since all is over */
  endingMs = Number.POSITIVE_INFINITY;
  /** what the code of the product threw without anyone catching it */
  readonly bugs: string[] = [];
  /** what hubs confirmed */
  readonly acknowledged: Acknowledged[] = [];
  /** of what was confirmed, what a hub that responds did not have once all was over */
  readonly missing: { change: Acknowledged; hub: string }[] = [];
  room: OwnedRoom | undefined;
  readonly #product: Product;
  readonly #cluster: ReturnType<Product["createMemoryCluster"]>;
  readonly #disks = new Map<Machine, Disk>();
  readonly #clients: Machine[];
  readonly #directory = new Machine("directory", "10.0.1.1");

  constructor(plan: Plan, product: Product) {
    this.plan = plan;
    this.#product = product;
    this.scheduler = new Scheduler(plan.seed);
    this.network = new Network(this.scheduler);
    let next = 1;
    const machine = (name: string): Machine => {
      const made = new Machine(name, `10.0.0.${next++}`);
      this.network.add(made);
      return made;
    };
    for (const name of plan.hubs) {
      const process = { machine: machine(name), hub: undefined, directory: undefined };
      const directoryWeather = { mostMs: 1, lossRate: 0 };
      this.hubs.push({ ...process, directoryWeather, log: [], kills: 0 });
      this.#disks.set(process.machine, new Disk(this.scheduler, process.machine));
    }
    const nowMs = () => this.scheduler.nowMs;
    for (const planned of plan.agents) {
      const { name: id, model, slots, budget, context } = planned;
      const server = new ScriptedServer(planned, nowMs);
      const process = { machine: machine(id), participant: undefined, starts: 0 };
      this.agents.push({ ...process, id, model, slots, budget, context, server });
      if (budget !== undefined)
        this.#disks.set(process.machine, new Disk(this.scheduler, process.machine));
    }
    this.#clients = plan.clients.map(machine);
    this.#cluster = product.createMemoryCluster();
  }

  /** What is on the disks: where, and its text. */
  get files(): (readonly [where: string, text: string])[] {
    return [...this.#disks].flatMap(([{ name }, disk]) =>
      disk.files.map(([path, text]) => [`${path} of ${name}`, text] as const),
    );
  }

  /**
   * Runs it to its end.
   *
   * @param hasRecovered - judges the listings, which are read until it is true or the time for that is over
   */
  async run(hasRecovered: (history: History) => boolean): Promise<void> {
    const onBug = (error: unknown): void => void this.bugs.push(inWords(error));
    process.on("unhandledRejection", onBug);
    process.on("uncaughtException", onBug);
    usePlatform({ scheduler: this.scheduler, network: this.network, disks: this.#disks });
    try {
      await this.#begin();
      await this.#live();
      await this.#recover(hasRecovered);
      await this.#end();
    } finally {
      usePlatform(undefined);
      this.network.close();
      process.off("unhandledRejection", onBug);
      process.off("uncaughtException", onBug);
    }
  }

  async #begin(): Promise<void> {
    for (const hub of this.hubs) await this.#startHub(hub);
    await this.scheduler.runUntil(1_000);
    const [first] = this.hubs;
    await this.#on(this.#clients[0]!, "create room", async () => {
      this.room = await createRoom(urlOf(first!.machine), "simulated");
    });
    await this.scheduler.runUntil(2_000);
    for (const [index, { machine }] of this.hubs.entries()) {
      const path = `${index % 2 === 0 ? "/v1" : ""}/rooms/${this.#roomCode}/events`;
      const watcher = new EventWatcher(
        { host: machine.address, port: hubPort, path },
        () => this.scheduler.nowMs,
      );
      this.watchers.push(watcher);
      await this.#on(this.#clients[0]!, "watch", () => watcher.watch());
    }
    for (const agent of this.agents) {
      await this.#on(agent.machine, "model server", () => agent.server.listen(modelPort));
      await this.#startAgent(agent);
    }
  }

  get #roomCode(): string {
    if (this.room === undefined) throw new Error("the room was not made");
    return this.room.code;
  }

  async #live(): Promise<void> {
    const { requests, changes, faults, healMs } = this.plan;
    const steps = [
      ...requests.map((planned) => ({ atMs: planned.atMs, act: () => this.#send(planned) })),
      ...changes.map((planned) => ({ atMs: planned.atMs, act: () => this.#change(planned) })),
      ...faults.flatMap((fault) => this.#stepsOf(fault)),
    ].toSorted((one, other) => one.atMs - other.atMs);
    for (const { atMs, act } of steps) {
      await this.scheduler.runUntil(atMs);
      await act();
    }
    await this.scheduler.runUntil(healMs);
  }

  async #recover(hasRecovered: (history: History) => boolean): Promise<void> {
    this.network.healAll();
    const untilMs = this.scheduler.nowMs + recoveryMs;
    while (this.scheduler.nowMs < untilMs) {
      await this.scheduler.runUntil(this.scheduler.nowMs + 2_000);
      if (this.outcomes.some(({ end }) => end === "open")) continue;
      await this.#list();
      if (hasRecovered(this)) break;
    }
    // Events of the last ends, also of those that a home keeps to itself for a while.
    await this.scheduler.runUntil(this.scheduler.nowMs + 10_000);
    await this.#sendLate();
    await this.#list();
    await this.#lookForAcknowledged();
  }

  async #sendLate(): Promise<void> {
    for (const { machine } of this.hubs) {
      const planned = { ...lateRequest, tag: `late at ${machine.name}` };
      const at = { host: machine.address, port: hubPort, room: this.#roomCode };
      await this.#on(this.#clients[0]!, "send", () => {
        const outcome = sendPlanned(planned, at, () => this.scheduler.nowMs);
        this.lateOutcomes.push({ hub: machine.name, outcome });
      });
    }
    await this.scheduler.runUntil(this.scheduler.nowMs + 5_000);
  }

  /** What was confirmed is looked for at each hub. */
  async #lookForAcknowledged(): Promise<void> {
    for (const change of this.acknowledged) {
      for (const { machine } of this.hubs) {
        await this.#on(this.#clients[0]!, "look for", async () => {
          const isFound = await isThere(change, urlOf(machine));
          if (isFound === false) this.missing.push({ change, hub: machine.name });
        });
      }
    }
    await this.scheduler.runUntil(this.scheduler.nowMs + 1_000);
  }

  /** What each hub says of the room. */
  async #list(): Promise<void> {
    for (const [index, { machine }] of this.hubs.entries()) {
      this.listings[index] = undefined;
      await this.#on(this.#clients[0]!, "list", async () => {
        const url = `${urlOf(machine)}/rooms/${this.#roomCode}/participants`;
        // A hub that does not respond is what is to be found out.
        const response = await fetch(url).catch(() => undefined);
        const list = (await response?.json()) as { participants?: ListedParticipant[] } | undefined;
        this.listings[index] = list?.participants;
      });
    }
    await this.scheduler.runUntil(this.scheduler.nowMs + 1_000);
  }

  async #end(): Promise<void> {
    this.endingMs = this.scheduler.nowMs;
    for (const watcher of this.watchers) watcher.close();
    for (const { machine, participant } of this.agents) {
      await this.#on(machine, "leave", () => void participant?.close({ drainMs: 0 }));
    }
    for (const hub of this.hubs) {
      await this.#on(hub.machine, "close", () => void hub.hub?.close());
    }
    await this.scheduler.runUntil(this.scheduler.nowMs + 5_000);
  }

  async #startHub(process: HubProcess): Promise<void> {
    const { machine, log } = process;
    machine.startedMs = this.scheduler.nowMs;
    const line = new DirectoryLine(
      this.scheduler,
      { hub: machine, directory: this.#directory },
      process.directoryWeather,
      () => new this.#product.DirectoryUnavailable("no reply came"),
    );
    await this.#on(machine, "start", async () => {
      const nowMs = () => this.scheduler.nowMs;
      const directory =
        this.hubs.length === 1
          ? undefined
          : this.#cluster.directory({ nowMs, deliver: line.deliver, call: line.call });
      process.directory = directory;
      const hub = this.#product.createHub({
        host: machine.address,
        port: hubPort,
        direct: false,
        store: this.#product.fileRoomStore(`${diskRoot}/roomhub/rooms.json`, {
          onWarning: (message) => void log.push(message),
        }),
        logFormat: "text",
        writeLog: (lines) => void log.push(lines),
        ...(directory === undefined
          ? {}
          : { cluster: { directory, secret: clusterSecret, advertiseUrl: urlOf(machine) } }),
      });
      process.hub = hub;
      await hub.listen().catch((error: unknown) => {
        if (!(error instanceof this.#product.DirectoryUnavailable)) throw error;
        // As a service manager does.
        setTimeout(() => void this.#startHub(process), 1_000);
      });
    });
  }

  async #startAgent(agent: AgentProcess): Promise<void> {
    const { machine, id, model, slots, budget } = agent;
    // With the hub that the agent was given: any of them.
    const hub = this.hubs[agent.starts++ % this.hubs.length]!;
    await this.#on(machine, "start", () => {
      const participant = this.#product.createParticipant({
        hubUrl: urlOf(hub.machine),
        room: this.#roomCode,
        ...{ id, nickname: id, model, config: { maxConcurrency: slots } },
        endpoint: `http://127.0.0.1:${modelPort}/v1`,
        env: {},
        ...(budget === undefined ? {} : { budget, budgetFolder: `${diskRoot}/budgets` }),
      });
      agent.participant = participant;
      void participant.start().catch(() => {});
    });
  }

  #send(planned: PlannedRequest): Promise<void> {
    const client = this.#clients[planned.client]!;
    const { address } = this.hubs[planned.hub]!.machine;
    const at = { host: address, port: hubPort, room: this.#roomCode };
    return this.#on(client, "send", () => {
      this.outcomes.push(sendPlanned(planned, at, () => this.scheduler.nowMs));
    });
  }

  #change(planned: PlannedChange): Promise<void> {
    const { machine } = this.hubs[planned.hub]!;
    return this.#on(this.#clients[0]!, "change", async () => {
      const nowMs = () => this.scheduler.nowMs;
      const made = await makeChange(planned, urlOf(machine), this.room!, nowMs);
      if (made !== undefined) this.acknowledged.push(made);
    });
  }

  #stepsOf(fault: Fault): { atMs: number; act: () => Promise<void> | void }[] {
    const { atMs } = fault;
    switch (fault.kind) {
      case "reset":
        return [{ atMs, act: () => this.#reset(fault.machine, fault.nth) }];
      case "hop reset": {
        const [one, other] = [this.#machine(fault.one), this.#machine(fault.other)];
        const between = () =>
          this.network.sockets.filter(
            ({ machine, peer }) => machine === one && peer?.machine === other,
          );
        return [{ atMs, act: () => between().forEach((socket) => socket.break()) }];
      }
      case "clock":
        return [
          { atMs, act: () => void (this.#machine(fault.machine).wallOffsetMs += fault.byMs) },
        ];
      case "cut": {
        const [one, other] = [this.#machine(fault.one), this.#machine(fault.other)];
        if (one === other) return [];
        return [
          { atMs, act: () => this.network.cut(one, other) },
          { atMs: atMs + fault.forMs, act: () => this.network.heal(one, other) },
        ];
      }
      case "broken dials": {
        const machine = this.#machine(fault.machine);
        const begin = () => {
          this.network.breakDials(machine, fault.mostMs);
          for (const socket of this.network.sockets) {
            if (socket.machine === machine && socket.peer?.machine !== machine) socket.break();
          }
        };
        return [
          { atMs, act: begin },
          { atMs: atMs + fault.forMs, act: () => this.network.breakDials(machine, undefined) },
        ];
      }
      case "freeze": {
        const machine = this.#machine(fault.machine);
        const act = () => {
          machine.frozenUntilMs = Math.max(machine.frozenUntilMs, atMs + fault.forMs);
        };
        return [{ atMs, act }];
      }
      case "kill":
      case "stop": {
        const end =
          fault.kind === "kill"
            ? () => this.#kill(fault.machine, fault.isPowerCut)
            : () => this.#stop(fault.machine);
        return [
          { atMs, act: end },
          { atMs: atMs + fault.forMs, act: () => this.#restart(fault.machine) },
        ];
      }
      case "slow network": {
        const { weather } = this.network;
        return [
          { atMs, act: () => void (weather.mostMs = fault.mostMs) },
          { atMs: atMs + fault.forMs, act: () => void (weather.mostMs = 1) },
        ];
      }
      case "model server": {
        const server = this.agents.find(({ machine }) => machine.name === fault.machine)?.server;
        return [
          { atMs, act: () => void (server!.mood = fault.mood) },
          { atMs: atMs + fault.forMs, act: () => void (server!.mood = undefined) },
        ];
      }
      case "full disk": {
        const disk = this.#disks.get(this.#machine(fault.machine))!;
        return [
          { atMs, act: () => void (disk.isFull = true) },
          { atMs: atMs + fault.forMs, act: () => void (disk.isFull = false) },
        ];
      }
      case "slow directory": {
        const { directoryWeather } = this.#hub(fault.machine);
        const { mostMs, lossRate } = fault;
        return [
          { atMs, act: () => void Object.assign(directoryWeather, { mostMs, lossRate }) },
          {
            atMs: atMs + fault.forMs,
            act: () => void Object.assign(directoryWeather, { mostMs: 1, lossRate: 0 }),
          },
        ];
      }
      case "no directory": {
        const hub = this.#hub(fault.machine);
        return [
          { atMs, act: () => this.#on(hub.machine, "cut off", () => hub.directory?.cutOff()) },
          {
            atMs: atMs + fault.forMs,
            act: () => this.#on(hub.machine, "heal", () => hub.directory?.heal()),
          },
        ];
      }
    }
  }

  #reset(name: string, nth: number): void {
    const open = this.network.sockets.filter(
      ({ machine, peer }) => machine.name === name && peer !== undefined,
    );
    open[nth % Math.max(1, open.length)]?.break();
  }

  #kill(name: string, isPowerCut: boolean): void {
    const machine = this.#machine(name);
    if (isPowerCut) this.#disks.get(machine)?.powerCut();
    machine.boot++;
    machine.frozenUntilMs = 0;
    this.network.processEnded(machine);
    const hub = this.hubs.find((one) => one.machine === machine);
    if (hub !== undefined) {
      hub.kills++;
      hub.directory?.killed();
      hub.hub = undefined;
    }
    const agent = this.agents.find((one) => one.machine === machine);
    if (agent !== undefined) {
      agent.participant = undefined;
      agent.server.killed();
    }
  }

  async #stop(name: string): Promise<void> {
    const machine = this.#machine(name);
    const hub = this.hubs.find((one) => one.machine === machine);
    const agent = this.agents.find((one) => one.machine === machine);
    await this.#on(machine, "stop", () => {
      void hub?.hub?.close();
      void agent?.participant?.close();
    });
  }

  /** What has not ended in order by then is killed. */
  async #restart(name: string): Promise<void> {
    const machine = this.#machine(name);
    const hub = this.hubs.find((one) => one.machine === machine);
    const agent = this.agents.find((one) => one.machine === machine);
    this.#kill(name, false);
    if (hub !== undefined) await this.#startHub(hub);
    if (agent !== undefined) {
      await this.#on(machine, "model server", () => agent.server.listen(modelPort));
      await this.#startAgent(agent);
    }
  }

  #hub(name: string): HubProcess {
    const hub = this.hubs.find(({ machine }) => machine.name === name);
    if (hub === undefined) throw new Error(`no hub ${name}`);
    return hub;
  }

  #machine(name: string): Machine {
    for (const machine of this.network.machines) if (machine.name === name) return machine;
    throw new Error(`no machine ${name}`);
  }

  /** A step of a machine: what it starts runs on it. */
  async #on(machine: Machine, what: string, task: () => Promise<unknown> | void): Promise<void> {
    await this.scheduler.run(machine, what, () => {
      void Promise.resolve(task()).catch((error: unknown) => {
        this.bugs.push(`${machine.name}, ${what}: ${inWords(error)}`);
      });
    });
  }
}

/** Of what every model server can do. */
const lateRequest: PlannedRequest = {
  ...{ tag: "", atMs: 0, client: 0, hub: 0, selector: "*" },
  ...{ isStream: false, isForm: false, isBatch: false },
  ...{ tokens: 2, gapMs: 5, tokenBytes: 0, promptBytes: 0, leavesAfterMs: undefined, pauses: [] },
};

const clusterSecret = Buffer.alloc(32, "simulation");

function urlOf({ address }: Machine): string {
  return `http://${address}:${hubPort}`;
}

function inWords(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
