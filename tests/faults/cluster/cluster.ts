import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { ParticipantSummary } from "@roomhub/protocol";
import { until } from "../../support/waiting.ts";
import type { Program, RoomhubChild } from "../child.ts";
import type { CallOutcome, CallWish } from "../client-call.ts";
import { mustComplete, pauseMs } from "../figure.ts";
import type { ClientHandlers } from "../programs/clients.ts";
import type { ProviderHandlers } from "../programs/provider.ts";
import type { World, WorldPart } from "../world.ts";
import { ClusterHub } from "./cluster-hub.ts";
import {
  checkClusterLedger,
  streamedEnds,
  type RequestEnd,
  type LedgerRules,
  type StreamRun,
} from "./cluster-ledger.ts";
import { Followers } from "./followers.ts";
import { Nats } from "./nats.ts";
import { type ClusterNetwork, createClusterNetwork, type Machine } from "./network.ts";

export interface ClusterOpening {
  /** limits of the hubs, as environment variables */
  env?: Record<string, string> | undefined;
  /** `p1`, `p2`, …, each on a machine of its own beside its provider, at the hubs in turn; 3 when left out */
  participants?: number | undefined;
  /** machines with nothing on them */
  machines?: readonly string[] | undefined;
}

/** A call at one of the hubs. */
export type ClusterWish = Partial<CallWish> & { tag: string; hub?: ClusterHub };

const hubNames = ["hub1", "hub2", "hub3"] as const;

/** Three hubs, nats-server, participants and clients, each on a machine of its own, and the records of all of them. */
export class Cluster implements WorldPart {
  readonly network: ClusterNetwork;
  readonly hubs: readonly [ClusterHub, ClusterHub, ClusterHub];
  readonly nats: Nats;
  /** by id */
  readonly participants = new Map<string, RoomhubChild>();
  readonly #world: World;
  readonly #rules: LedgerRules = { mayMiss: false, mayBeCut: false };
  readonly #asked = new Set<string>();
  readonly #outcomes: CallOutcome[] = [];
  /** by tag: how often a provider worked on it */
  readonly #generations = new Map<string, number>();
  /** by participant: the calls that its provider works on now, and the most that it ever worked on */
  readonly #working = new Map<string, { now: number; most: number }>();
  #clients: Program<ClientHandlers> | undefined;
  #code = "";
  #files = 0;

  private constructor(world: World, secretPath: string, opening: ClusterOpening) {
    const { env = {}, participants = 3, machines = [] } = opening;
    const path = (name: string) => world.path(name);
    this.#world = world;
    this.network = createClusterNetwork(world.children, [
      ...["nats", "clients", ...hubNames],
      ...Array.from({ length: participants }, (_, index) => `p${index + 1}`),
      ...machines,
    ]);
    this.nats = new Nats(world.children, this.network.machine("nats"), path("nats"));
    const launch = { natsUrl: this.nats.url, secretPath, env, path };
    const hub = (name: string) =>
      new ClusterHub(world.children, this.network.machine(name), launch);
    this.hubs = [hub(hubNames[0]), hub(hubNames[1]), hub(hubNames[2])];
  }

  /** Starts everything, and resolves when every hub serves every participant. */
  static async open(world: World, opening: ClusterOpening = {}): Promise<Cluster> {
    const secretPath = world.path("secret");
    await writeFile(secretPath, randomBytes(32).toString("hex"), { mode: 0o600 });
    const cluster = new Cluster(world, secretPath, opening);
    world.add(cluster);
    await cluster.#start(opening.participants ?? 3);
    return cluster;
  }

  get code(): string {
    return this.#code;
  }

  get clients(): Program<ClientHandlers> {
    if (this.#clients === undefined) throw new Error("there are no clients yet");
    return this.#clients;
  }

  get runningHubs(): readonly ClusterHub[] {
    return this.hubs.filter(({ isRunning }) => isRunning);
  }

  /** From now on a stream may lack events of other hubs, see {@link LedgerRules}. */
  eventsMayMiss(): void {
    this.#rules.mayMiss = true;
  }

  /** From now on a connection may break without an error frame: the fault is between clients and hubs. */
  connectionsMayBreak(): void {
    this.#rules.mayBeCut = true;
  }

  baseUrl(hub: { url: string }): string {
    return `${hub.url}/rooms/${this.#code}/v1`;
  }

  callWish({ hub = this.hubs[0], ...wish }: ClusterWish): CallWish {
    return {
      ...{ baseUrl: this.baseUrl(hub), surface: "chat/completions", stream: true, model: "p1" },
      ...wish,
    };
  }

  /** Running calls; their outcomes are part of the ledger. */
  async startAll(wishes: readonly ClusterWish[]): Promise<string[]> {
    const calls = wishes.map((wish) => this.callWish(wish));
    for (const { tag } of calls) this.#asked.add(tag);
    await this.clients.call("startAll", calls);
    return calls.map(({ tag }) => tag);
  }

  async outcomes(tags: readonly string[]): Promise<CallOutcome[]> {
    const outcomes = await this.clients.call("outcomes", [...tags]);
    for (const { tag } of outcomes) this.#asked.delete(tag);
    this.addOutcomes(outcomes);
    return outcomes;
  }

  /** Resolves when providers work on all of them. @param count - so many are enough: the others wait */
  async generating(tags: readonly string[], count = tags.length): Promise<void> {
    const begun = () => tags.filter((tag) => this.#generations.has(tag));
    await until("providers to get the requests", begun, ({ length }) => length >= count, 30_000);
  }

  /**
   * Resolves when each of the requests has an end.
   *
   * @param where - in the event stream of some hub, or in the log of the one that emitted it, whoever watched
   */
  async ended(outcomes: readonly CallOutcome[], where: "streams" | "logs"): Promise<void> {
    const lacking = () => {
      const ends = where === "streams" ? streamedEnds(this.#runs) : this.#loggedEnds();
      const ended = new Set(ends.map(({ requestId }) => requestId));
      const open = outcomes.filter(({ requestId = "" }) => !ended.has(requestId));
      return open.map(({ tag, requestId }) => `${tag} (${requestId})`);
    };
    await until(`ends in the ${where}`, lacking, (left) => left.length === 0, 60_000);
  }

  /** The most calls that the provider of any participant has worked on at the same time. */
  get mostAtOnce(): number {
    return Math.max(...[...this.#working.values()].map(({ most }) => most));
  }

  async ask(wish: ClusterWish): Promise<CallOutcome> {
    const [outcome] = await this.outcomes(await this.startAll([wish]));
    if (outcome === undefined) throw new Error(`no outcome of ${wish.tag}`);
    return outcome;
  }

  /** Outcomes that were collected by other means than {@link outcomes}. */
  addOutcomes(outcomes: readonly CallOutcome[]): void {
    this.#outcomes.push(...outcomes);
  }

  /** Ordinary requests all along, at every hub: to a participant of its own, and to one of the next hub. */
  async startLoad(perSecond: number): Promise<void> {
    for (const [index, hub] of this.hubs.entries()) {
      for (const model of [`p${index + 1}`, `p${((index + 1) % 3) + 1}`]) {
        const load = { baseUrl: this.baseUrl(hub), model, perSecond, words: 40, chunkDelayMs: 25 };
        await this.clients.call("startLoad", load);
      }
    }
  }

  /** Resolves when every request of the load has ended. */
  async stopLoad(): Promise<CallOutcome[]> {
    const outcomes = await this.clients.call("stopLoads");
    this.addOutcomes(outcomes);
    return outcomes;
  }

  /** A provider and `roomhub join` on one machine. */
  async addParticipant(
    id: string,
    machine: Machine,
    hub: ClusterHub,
    connectWithinMs = 60_000,
  ): Promise<void> {
    const { children } = this.#world;
    const provider = await children.program<ProviderHandlers>("provider", [], machine.prefix);
    const working = { now: 0, most: 0 };
    this.#working.set(id, working);
    provider.on("asked", ({ tag }: { tag: string }) => {
      this.#generations.set(tag, (this.#generations.get(tag) ?? 0) + 1);
      working.most = Math.max(working.most, ++working.now);
    });
    provider.on("closed", () => void working.now--);
    const { url } = await provider.call("about");
    await this.join(id, machine, hub, ["--endpoint", url], connectWithinMs);
  }

  /** `roomhub join` on a machine where a provider of `fake-model` is. @param args - its endpoint, and more */
  async join(
    id: string,
    machine: Machine,
    hub: { url: string },
    args: readonly string[],
    connectWithinMs = 60_000,
  ): Promise<void> {
    const child = this.#world.children.roomhub({
      args: [
        ...["join", `${hub.url}/rooms/${this.#code}`, "--id", id, "--nickname", id],
        ...["--model", "fake-model", ...args],
      ],
      prefix: machine.prefix,
      outputPath: this.#world.path(`${id}-${++this.#files}.log`),
    });
    await child.line("that it is connected", ({ kind }) => kind === "connected", connectWithinMs);
    this.participants.set(id, child);
  }

  async listed(hub: ClusterHub, id: string): Promise<ParticipantSummary | undefined> {
    return (await hub.api.listParticipants(this.#code)).find((listed) => listed.id === id);
  }

  /** A watcher at each hub, once each has read its lists. */
  async follow(): Promise<Followers> {
    const followers = new Followers(this.hubs, this.#code);
    await followers.agreed();
    return followers;
  }

  /** Every participant responds through every running hub. @param tag - of the requests */
  async serveEverywhere(
    tag: string,
    models = [...this.participants.keys()],
    stream = true,
  ): Promise<void> {
    const wishes = this.runningHubs.flatMap((hub) =>
      models.map((model) => ({ tag: `${tag}-${hub.name}-${model}`, hub, model, stream })),
    );
    mustComplete(await this.outcomes(await this.startAll(wishes)));
  }

  /** Resolves when every running hub has a link to every other one, and the same participants, all connected. */
  async agreed(timeoutMs = 30_000): Promise<void> {
    const look = async () => [
      ...(await this.#linkProblems()),
      ...(await this.#listingProblems()),
      ...(await this.#connectionProblems()),
    ];
    await until("all hubs to agree", look, (problems) => problems.length === 0, timeoutMs);
  }

  /** Resolves when every running hub has a link to every other one, and the participants are connected. */
  async linked(timeoutMs = 30_000): Promise<void> {
    const look = async () => [
      ...(await this.#linkProblems()),
      ...(await this.#connectionProblems()),
    ];
    await until("all hubs to be linked", look, (problems) => problems.length === 0, timeoutMs);
  }

  async settle(): Promise<{ calls: number; problems: string[] }> {
    if (this.#clients === undefined) return { calls: 0, problems: [] };
    await this.stopLoad();
    await this.outcomes([...this.#asked]);
    await this.quiet();
    return { calls: this.#outcomes.length, problems: await this.#problems() };
  }

  /** Resolves when nothing is on its way to the event streams any more, as far as that can be seen. */
  async quiet(): Promise<void> {
    const isFine = (problems: string[]) => problems.length === 0;
    // Problems that remain are in the result.
    await until("the streams to agree", () => this.#problems(), isFine).catch(() => undefined);
    // What comes twice may come later.
    await pauseMs(300);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { events } of this.#runs) events.close();
    this.network[Symbol.dispose]();
  }

  async #start(participants: number): Promise<void> {
    const clients = this.#world.children.program<ClientHandlers>(
      ...(["clients", [], this.network.machine("clients").prefix] as const),
    );
    await this.nats.start();
    await Promise.all(this.hubs.map((hub) => hub.start()));
    this.#code = await this.#createRoom();
    this.#clients = await clients;
    // The first hub that is asked for the room becomes its home.
    for (const hub of this.hubs) await this.#recordWhenKnown(hub);
    await Promise.all(
      Array.from({ length: participants }, (_, index) => {
        const [id, hub] = [`p${index + 1}`, this.hubs[index % 3] ?? this.hubs[0]];
        return this.addParticipant(id, this.network.machine(id), hub);
      }),
    );
    await this.agreed();
  }

  /** Of a busy machine a hub may have lost its first connection to NATS again. */
  async #createRoom(): Promise<string> {
    const { api } = this.hubs[0];
    const create = () => api.createRoom({ name: "faults" }).catch(() => undefined);
    const isMade = (made: unknown) => made !== undefined;
    return (await until("a room", create, isMade, 60_000))?.room.code ?? "";
  }

  /** A hub reads the directory before it says that it does not know a room. */
  async #recordWhenKnown(hub: ClusterHub): Promise<void> {
    await hub.api.getRoom(this.#code);
    await hub.record(this.#code);
  }

  async #problems(): Promise<string[]> {
    const [runs, outcomes, generations] = [this.#runs, this.#outcomes, this.#generations];
    const loggedEnds = this.#loggedEnds();
    return [
      ...checkClusterLedger({ runs, loggedEnds, outcomes, generations }, this.#rules),
      ...(await this.#listingProblems()),
    ];
  }

  #loggedEnds(): RequestEnd[] {
    return this.hubs.flatMap((hub) => hub.loggedEnds());
  }

  get #runs(): StreamRun[] {
    return this.hubs.flatMap((hub) => hub.runs);
  }

  async #linkProblems(): Promise<string[]> {
    const hubs = this.runningHubs;
    const lists = await Promise.all(hubs.map(({ api }) => api.listHubs()));
    return lists.flatMap((list, index) => {
      const open = list.filter(({ link }) => link !== "down").length;
      if (list.length === hubs.length && open === hubs.length) return [];
      const seen = list.map(({ url, link, problem = "" }) => `${url} ${link} ${problem}`.trim());
      return [`${hubs[index]?.name} sees ${seen.join(", ")}`];
    });
  }

  async #connectionProblems(): Promise<string[]> {
    const [hub = this.hubs[0]] = this.runningHubs;
    const listed = await hub.api.listParticipants(this.#code);
    const ready = listed.filter(({ connection }) => connection.readiness === "ready");
    const running = [...this.participants].filter(([, { hasEnded }]) => !hasEnded);
    const lacking = running.filter(([id]) => !ready.some((one) => one.id === id));
    return lacking.map(([id]) => `${id} is not connected at ${hub.name}`);
  }

  /** Every hub lists the same participants, and no load is left. */
  async #listingProblems(): Promise<string[]> {
    const hubs = this.runningHubs;
    const lists = await Promise.all(hubs.map(({ api }) => api.listParticipants(this.#code)));
    const [first = "", ...others] = lists.map((list) => list.map(inWords).toSorted().join(", "));
    return others.flatMap((list, index) =>
      list === first ? [] : [`${hubs[0]?.name} lists ${first}; ${hubs[index + 1]?.name} ${list}`],
    );
  }
}

function inWords({ id, model, status, connection, load }: ParticipantSummary): string {
  const path = connection.connected ? "connected" : "not connected";
  return `${id} ${model} ${status} ${path} ${load.active}/${load.queued}`;
}
