import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { RoomhubClient } from "@roomhub/client";
import { recordEvents } from "../support/hub/event-recorder.ts";
import { until } from "../support/waiting.ts";
import type { Children, Program, RoomhubChild } from "./child.ts";
import type { CallOutcome, CallWish } from "./client-call.ts";
import { checkLedger, type HubRun, openRequests } from "./ledger-check.ts";
import type { ClientHandlers } from "./programs/clients.ts";
import type { ProviderHandlers } from "./programs/provider.ts";
import { Observers } from "./observers.ts";
import { type Figure, must, pauseMs } from "./figure.ts";

/** Its hub may be frozen at this moment. */
const connectWithinMs = 60_000;

export interface HubChild extends RoomhubChild {
  readonly url: string;
  readonly port: number;
}

export interface ProviderChild {
  readonly program: Program<ProviderHandlers>;
  readonly url: string;
  /** a second server of it, see `PlainWish` */
  readonly plainUrl: string;
}

export interface Opening {
  /** limits, as environment variables */
  env?: Record<string, string> | undefined;
  args?: readonly string[] | undefined;
  /** what runs the hub, see `RoomhubLaunch` */
  prefix?: readonly string[] | undefined;
  /** how many participants named `p1`, `p2`, … beside one provider; 1 when left out */
  participants?: number | undefined;
  /** ordinary requests all along, at participants of their own; true when left out */
  hasLoad?: boolean | undefined;
  /** `roomhub record` and `roomhub metrics`, compared with the ledger at the end; for one hub without checkpoints */
  hasObservers?: boolean | undefined;
}

export type Wish = Partial<CallWish> & { tag: string };

/** What a scenario has of its own beside the usual setup, such as a cluster. Its ledger is part of the world's. */
export interface WorldPart extends AsyncDisposable {
  settle(): Promise<{ calls: number; problems: string[] }>;
}

/** A hub, participants, providers and clients, each a process of its own, and the records of all of them. */
export class World implements AsyncDisposable {
  readonly isQuick: boolean;
  readonly children: Children;
  readonly figures: Figure[] = [];
  readonly #folder: string;
  readonly #runs: HubRun[] = [];
  readonly #asked = new Set<string>();
  readonly #outcomes: CallOutcome[] = [];
  #callsBefore = 0;
  #mayBeCut = false;
  #hub: HubChild | undefined;
  #hubLaunch:
    | { env: Record<string, string>; args: string[]; prefix: readonly string[] }
    | undefined;
  #code = "";
  #clients: Program<ClientHandlers> | undefined;
  #provider: ProviderChild | undefined;
  #observers: Observers | undefined;
  #files = 0;
  readonly #parts: WorldPart[] = [];

  constructor(children: Children, folder: string, isQuick: boolean) {
    this.children = children;
    this.#folder = folder;
    this.isQuick = isQuick;
  }

  static async create(children: Children, isQuick: boolean): Promise<World> {
    const folder = await mkdtemp(joinPath(tmpdir(), "roomhub-faults-"));
    children.undoOnCrash(`rm -rf ${folder}`);
    return new World(children, folder, isQuick);
  }

  get hub(): HubChild {
    return this.#hub ?? missing("hub");
  }

  get clients(): Program<ClientHandlers> {
    return this.#clients ?? missing("clients");
  }

  get provider(): ProviderChild {
    return this.#provider ?? missing("provider");
  }

  get code(): string {
    return this.#code;
  }

  get baseUrl(): string {
    return `${this.hub.url}/rooms/${this.#code}/v1`;
  }

  get api(): RoomhubClient {
    return new RoomhubClient({ hubUrl: this.hub.url });
  }

  /** the events of the hub that runs now */
  get events() {
    return (this.#runs.at(-1) ?? missing("events")).dot;
  }

  /** From now on a connection may break without an error frame: the fault is between client and hub. */
  connectionsMayBreak(): void {
    this.#mayBeCut = true;
  }

  /** A time or an amount of memory. */
  figure(what: string, goal: string, measured: string, isMet: boolean): void {
    this.figures.push({ what, goal, measured, isMet, needsFreeMachine: true });
  }

  /** A result that must be the same on every machine, however busy. */
  fact(what: string, goal: string, measured: string, isMet: boolean): void {
    this.figures.push({ what, goal, measured, isMet, needsFreeMachine: false });
  }

  /** From now on it is settled and disposed of with the world, after all processes have ended. */
  add(part: WorldPart): void {
    this.#parts.push(part);
  }

  /** Starts the default setup. */
  async open({
    env = {},
    args = [],
    prefix = [],
    participants = 1,
    hasLoad = true,
    hasObservers = false,
  }: Opening = {}) {
    this.#hubLaunch = {
      env,
      args: [...args, "--state-file", this.path("rooms.json")],
      prefix,
    };
    const [provider, clients] = await Promise.all([
      this.addProvider(),
      this.children.program<ClientHandlers>("clients"),
      this.#startHub("0"),
    ]);
    this.#provider = provider;
    this.#clients = clients;
    this.#code = (await this.api.createRoom({ name: "faults" })).room.code;
    await this.#record();
    if (hasObservers) {
      this.#observers = await Observers.start(this.children, {
        hubUrl: this.hub.url,
        code: this.#code,
        path: (name) => this.path(name),
      });
    }
    await Promise.all([
      ...Array.from({ length: participants }, (_, index) =>
        this.addParticipant(`p${index + 1}`, provider.url),
      ),
      ...(hasLoad ? [this.#startLoad()] : []),
    ]).then((started) => {
      this.participants.push(...started.filter((child) => child !== undefined));
    });
  }

  /** `p1`, `p2`, …, in this order */
  readonly participants: RoomhubChild[] = [];

  path(name: string): string {
    return joinPath(this.#folder, name);
  }

  /** @param prefix - what runs it, see `RoomhubLaunch` */
  async addProvider(prefix: readonly string[] = []): Promise<ProviderChild> {
    const program = await this.children.program<ProviderHandlers>("provider", [], prefix);
    return { program, ...(await program.call("about")) };
  }

  /** Clients elsewhere; what they see is added with {@link addOutcomes}. */
  clientsIn(prefix: readonly string[]): Promise<Program<ClientHandlers>> {
    return this.children.program<ClientHandlers>("clients", [], prefix);
  }

  /** The real `roomhub join`, connected. */
  async addParticipant(
    id: string,
    endpoint: string,
    {
      hubUrl = this.hub.url,
      env,
      prefix,
      model = "fake-model",
      args = [],
    }: {
      hubUrl?: string;
      model?: string;
      env?: Record<string, string>;
      prefix?: readonly string[];
      args?: readonly string[];
    } = {},
  ): Promise<RoomhubChild> {
    const child = this.children.roomhub({
      args: [
        ...["join", `${hubUrl}/rooms/${this.#code}`, "--id", id, "--nickname", id],
        ...["--model", model, "--endpoint", endpoint, ...args],
      ],
      env,
      prefix,
      outputPath: this.path(`${id}-${++this.#files}.log`),
    });
    await child.line("that it is connected", ({ kind }) => kind === "connected", connectWithinMs);
    return child;
  }

  /** A kill that clients notice only by their broken connections. */
  async killHub(): Promise<void> {
    const run = this.#runs.at(-1);
    if (run !== undefined) run.wasKilled = true;
    await this.hub.kill("SIGKILL");
  }

  /** A new hub on the same port with the same rooms. */
  async restartHub(): Promise<void> {
    await this.#startHub(String(this.hub.port));
    await this.#record();
  }

  /** A running call of the default room; its outcome is part of the ledger. */
  async start(wish: Wish): Promise<string> {
    await this.startAll([wish]);
    return wish.tag;
  }

  async startAll(wishes: readonly Wish[]): Promise<string[]> {
    const calls = wishes.map((wish) => this.callWish(wish));
    for (const { tag } of calls) this.#asked.add(tag);
    await this.clients.call("startAll", calls);
    return calls.map(({ tag }) => tag);
  }

  callWish(wish: Wish): CallWish {
    return {
      ...{ baseUrl: this.baseUrl, surface: "chat/completions", stream: true, model: "p1" },
      ...wish,
    };
  }

  async outcomes(tags: readonly string[]): Promise<CallOutcome[]> {
    const outcomes = await this.clients.call("outcomes", [...tags]);
    for (const outcome of outcomes) {
      this.#asked.delete(outcome.tag);
      this.#outcomes.push(outcome);
    }
    return outcomes;
  }

  async outcome(tag: string): Promise<CallOutcome> {
    return (await this.outcomes([tag]))[0] ?? missing("outcome");
  }

  /** Outcomes that were collected by other means than {@link outcomes}. */
  addOutcomes(outcomes: readonly CallOutcome[]): void {
    this.#outcomes.push(...outcomes);
  }

  async listed(id: string) {
    return await this.api.getParticipant(this.#code, id);
  }

  /** As {@link settle}, and then starts again: the records are cleared, the load continues. */
  async checkpoint(): Promise<{ calls: number; problems: string[] }> {
    const result = await this.settle();
    for (const { colon, dot } of this.#runs.splice(0)) {
      colon.close();
      dot.close();
    }
    this.#callsBefore += this.#outcomes.splice(0).length;
    await this.#record();
    await this.#askSteadily();
    return result;
  }

  /**
   * Waits until nothing runs, then compares the outcomes with the events.
   *
   * @returns all calls so far, and what does not agree since the last checkpoint
   */
  async settle(): Promise<{ calls: number; problems: string[] }> {
    const results = [await this.#settleHub()];
    for (const part of this.#parts) results.push(await part.settle());
    return {
      calls: results.reduce((sum, { calls }) => sum + calls, 0),
      problems: results.flatMap(({ problems }) => problems),
    };
  }

  async #settleHub(): Promise<{ calls: number; problems: string[] }> {
    if (this.#hub === undefined || this.#clients === undefined) return { calls: 0, problems: [] };
    const background = await this.clients.call("stopLoads");
    this.addOutcomes(background);
    await this.outcomes([...this.#asked]);
    const problems: string[] = [];
    const last = this.#runs.at(-1);
    if (!this.hub.hasEnded && last !== undefined) {
      const quiet = await until(
        "every request to end",
        () => openRequests(last),
        (open) => open === 0,
        5_000,
      ).catch((error: unknown) => error);
      if (quiet instanceof Error) problems.push(quiet.message);
      // An end is emitted after the client has its last byte.
      await pauseMs(100);
      problems.push(...(await this.#loadProblems()));
      problems.push(...((await this.#observers?.problems(last.dot)) ?? []));
    }
    problems.push(...checkLedger(this.#runs, this.#outcomes, this.#mayBeCut));
    return { calls: this.#callsBefore + this.#outcomes.length, problems };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { colon, dot } of this.#runs) {
      colon.close();
      dot.close();
    }
    await this.children.endAll();
    for (const part of this.#parts.toReversed()) await part[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  async #startHub(port: string): Promise<void> {
    const { env, args, prefix } = this.#hubLaunch ?? missing("launch");
    const child = this.children.roomhub({
      args: ["serve", "--port", port, ...args],
      env: {
        // For investigation: a profile, a heap limit.
        NODE_OPTIONS: process.env["FAULTS_HUB_NODE_OPTIONS"] ?? "",
        // The provider reports no limit, and faults strike many streams of one participant.
        ROOMHUB_ASSUMED_CONCURRENCY: "256",
        ...env,
      },
      prefix,
      outputPath: this.path(`hub-${++this.#files}.log`),
    });
    const line = await child.line("where it listens", (found) => "url" in found);
    this.#hub = Object.assign(child, { url: String(line["url"]), port: Number(line["port"]) });
  }

  async #record(): Promise<void> {
    const [colon, dot] = await Promise.all([
      recordEvents(`${this.hub.url}/rooms/${this.#code}/events`),
      recordEvents(`${this.hub.url}/v1/rooms/${this.#code}/events`),
    ]);
    this.#runs.push({ colon, dot, wasKilled: false });
  }

  /** Of a participant that is not disturbed. */
  async #startLoad(): Promise<undefined> {
    const provider = await this.addProvider();
    await this.addParticipant("steady", provider.url);
    await this.#askSteadily();
  }

  #askSteadily(): Promise<void> {
    return this.clients.call("startLoad", {
      ...{
        baseUrl: this.baseUrl,
        model: "steady",
        perSecond: this.isQuick ? 10 : 20,
        words: 40,
        chunkDelayMs: 25,
      },
    });
  }

  async #loadProblems(): Promise<string[]> {
    const busy = async () =>
      (await this.api.listParticipants(this.#code)).filter(
        ({ load }) => load.active !== 0 || load.queued !== 0,
      );
    const left = await until("no load to be left", busy, (all) => all.length === 0, 3_000).catch(
      busy,
    );
    return left.map(({ id, load }) => `${id} still has load ${load.active} and ${load.queued}`);
  }
}

function missing(what: string): never {
  must(false, `there is no ${what} yet`);
  throw new Error("unreachable");
}
