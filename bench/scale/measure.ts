import { get } from "node:http";
import { NatsDirectory } from "@roomhub/hub";
import { aPresence, Replica } from "../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import { Children, type Program } from "../../tests/faults/child.ts";
import { pauseMs } from "../../tests/faults/figure.ts";
import { startNatsServer, type NatsServer } from "../../tests/support/programs/nats-server.ts";
import { median } from "../figures/spread.ts";
import { fineCpuMsOf } from "../figures/process-cpu.ts";
import type { ClusterHubHandlers } from "../programs/cluster-hub.ts";
import { ChangeMaker, type ChangeRates } from "./change-maker.ts";
import type { ClusterLoad, CostName, Figures, MeasuredPoint } from "./points.ts";
import { quantile } from "./queue.ts";
import { fitTurn, turnShareMicros, type TurnCost } from "./turns.ts";

/** What of the directory and the bus can be measured on one machine. */
export interface MeasuredDirectory {
  costs: Partial<Record<CostName, number>>;
  points: MeasuredPoint[];
}

const windowMs = 2_500;
const settleMs = 300;
const windowsOfEach = 3;

/** About a minute and a half. */
export async function measureDirectory(): Promise<MeasuredDirectory> {
  return { costs: await measureCosts(), points: await measurePoints() };
}

/** One hub that only watches, and beside it directories that only receive. */
async function measureCosts(): Promise<Partial<Record<CostName, number>>> {
  await using lab = await openLab(1);
  const [hub] = lab.hubs;
  if (hub === undefined) throw new Error("no hub");
  const none = { participants: 0, changesPerSecond: 0, eventsPerSecond: 0 };
  await pauseMs(3_000);
  const emptyBytes = await hub.call("heapBytes");
  const many = { ...none, participants: 4_000 };
  await lab.run(many);
  await pauseMs(settleMs);
  const remoteParticipantBytes = ((await hub.call("heapBytes")) - emptyBytes) / many.participants;
  const changing = { ...many, changesPerSecond: 1_200 };
  // Code that has not run often is slow.
  for (let at = 0; at < 3; at++) await lab.window(changing);
  const idle = await lab.steady(none);
  const rates = [60, 300, 1_200];
  const changes: Window[] = [];
  for (const changesPerSecond of rates)
    changes.push(await lab.steady({ ...many, changesPerSecond }));
  const [slow, , few] = changes;
  if (slow === undefined || few === undefined) throw new Error("no rates");
  const each = (window: Window, of: "hubMs" | "natsMs" | "ownMs") =>
    ((window[of] - idle[of]) * 1_000) / window.made;
  const perSecond = (window: Window) => (window.made * 1_000) / windowMs;

  const telling = { ...many, eventsPerSecond: 1_200 };
  await lab.window(telling);
  const unheard = await lab.steady(telling);
  await lab.subscribe(1);
  await lab.window(telling);
  const heard = await lab.steady(telling);
  await lab.subscribe(50);
  const heardByMore = await lab.steady(telling);

  const at = (of: "hubMs" | "natsMs" | "ownMs", messages: number) =>
    changes.map((window) => ({
      perSecond: perSecond(window) * messages,
      micros: each(window, of) / messages,
    }));
  // The hub sees each change; this process begins it, has it acknowledged and sees it; the server takes it and gives it to both.
  const [turn, ownTurn, natsTurn] = [
    fitTurn(at("hubMs", 1)),
    fitTurn(at("ownMs", 3)),
    fitTurn(at("natsMs", 3)),
  ];
  const net = (window: Window, of: "hubMs" | "natsMs" | "ownMs", own: TurnCost, messages: number) =>
    each(window, of) - messages * turnShareMicros(own, perSecond(window) * messages);
  const watchUpdate = net(few, "hubMs", turn, 1);
  // Events are not written to a disk: their turns cost no more than they do.
  const natsPublish = each(unheard, "natsMs");
  const natsDelivery = each(heard, "natsMs") - natsPublish;
  return positive({
    hubSecond: (idle.hubMs * 1_000) / (windowMs / 1_000),
    remoteParticipantBytes,
    baseLagMs: quantile(slow.lagsMs, 0.5),
    turn: turn.micros,
    turnDelayMs: turn.delayMs,
    natsTurn: natsTurn.micros,
    natsTurnDelayMs: natsTurn.delayMs,
    watchUpdate,
    // A hub sees its own changes, too.
    put: net(few, "ownMs", ownTurn, 3),
    natsDelivery,
    natsPut: net(few, "natsMs", natsTurn, 3) - 2 * natsDelivery,
    // It is published in the turn in which it occurs.
    busPublish: each(unheard, "ownMs"),
    natsPublish,
    busReceive: net(heard, "hubMs", turn, 1),
    sseDelivery: (each(heardByMore, "hubMs") - each(heard, "hubMs")) / 50,
  });
}

/** What is lost in the noise of the machine counts as next to nothing. */
function positive(costs: Partial<Record<CostName, number>>): Partial<Record<CostName, number>> {
  const entries = Object.entries(costs).map(([name, value]) => [name, Math.max(value, 0.1)]);
  return Object.fromEntries(entries) as Partial<Record<CostName, number>>;
}

/** Hubs that all do the same; this process is one of them, and is not measured. */
async function measurePoints(): Promise<MeasuredPoint[]> {
  const points: MeasuredPoint[] = [];
  for (const [count, changesPerSecond, eventsPerSecond] of [
    [1, 800, 0],
    [2, 600, 900],
    [3, 1_000, 1_600],
  ] as const) {
    await using lab = await openLab(count);
    for (let at = 0; at <= count; at++) await lab.subscribe(1, at);
    const hubs = count + 1;
    const rates = {
      participants: 500,
      changesPerSecond: changesPerSecond / hubs,
      eventsPerSecond: eventsPerSecond / hubs,
    };
    for (let at = 0; at < 3; at++) {
      const busy = { ...rates, changesPerSecond: 400, eventsPerSecond: eventsPerSecond * 2 };
      await lab.window(busy, true);
    }
    const seen = await lab.steady(rates, true);
    const load: ClusterLoad = {
      ...{ hubs, groups: 1, natsCores: 2, rooms: 1, participants: 500 * hubs },
      ...{ changesPerSecond, requestsPerSecond: 0, chunksPerRequest: 0 },
      // Each hub has a subscriber.
      ...{
        otherEventsPerSecond: eventsPerSecond,
        subscribersPerRoom: hubs,
        isSpread: true,
        isWarmthShared: false,
      },
    };
    const figures: Partial<Figures> = {
      hubCpuShare: seen.hubMs / count / windowMs,
      natsCpuShare: seen.natsMs / windowMs,
    };
    points.push({
      name: `${hubs} hubs, ${changesPerSecond} changes and ${eventsPerSecond} events a second`,
      load,
      seen: figures,
    });
  }
  return points;
}

interface Window {
  /** changes and events of this process */
  made: number;
  /** of all hubs together */
  hubMs: number;
  natsMs: number;
  ownMs: number;
  lagsMs: number[];
}

class Lab implements AsyncDisposable {
  readonly hubs: Program<ClusterHubHandlers>[];
  readonly #stack: AsyncDisposableStack;
  readonly #nats: NatsServer;
  readonly #roomCode: string;
  readonly #urls: string[];
  readonly #maker: ChangeMaker;
  readonly #lagsMs: number[] = [];

  constructor(
    stack: AsyncDisposableStack,
    nats: NatsServer,
    hubs: Program<ClusterHubHandlers>[],
    urls: string[],
    roomCode: string,
    directory: NatsDirectory,
    lags: LagMeter,
  ) {
    this.#stack = stack;
    this.#nats = nats;
    this.hubs = hubs;
    this.#urls = urls;
    this.#roomCode = roomCode;
    this.#maker = new ChangeMaker(directory, roomCode, "0000000f");
    lags.lagsMs = this.#lagsMs;
  }

  /** Resolves once all participants exist. @param everywhere - the hubs do the same as this process */
  async run(rates: ChangeRates, everywhere = false): Promise<void> {
    await this.#maker.start(rates);
    if (!everywhere) return;
    const { hubs } = this;
    const started = hubs.map((hub, at) =>
      hub.call("start", { roomCode: this.#roomCode, name: `0000000${at}`, rates }),
    );
    await Promise.all(started);
  }

  async window(rates: ChangeRates, everywhere = false): Promise<Window> {
    await this.run(rates, everywhere);
    await pauseMs(settleMs);
    this.#lagsMs.length = 0;
    const before = this.#cpu();
    const madeBefore = this.#maker.made;
    const startMs = performance.now();
    await pauseMs(windowMs);
    const after = this.#cpu();
    const made = this.#maker.made - madeBefore;
    // A busy machine wakes this process late.
    const scale = windowMs / (performance.now() - startMs);
    this.#maker.stop();
    if (everywhere) await Promise.all(this.hubs.map((hub) => hub.call("stop")));
    await pauseMs(settleMs);
    return {
      made: made * scale,
      hubMs: (after.hubMs - before.hubMs) * scale,
      natsMs: (after.natsMs - before.natsMs) * scale,
      ownMs: (after.ownMs - before.ownMs) * scale,
      lagsMs: this.#lagsMs.toSorted((one, other) => one - other),
    };
  }

  /** The median of several windows: the machine has other things to do. */
  async steady(rates: ChangeRates, everywhere = false): Promise<Window> {
    const windows: Window[] = [];
    for (let at = 0; at < windowsOfEach; at++) windows.push(await this.window(rates, everywhere));
    const middle = (of: "made" | "hubMs" | "natsMs" | "ownMs") =>
      median(windows.map((window) => window[of]));
    return {
      made: middle("made"),
      hubMs: middle("hubMs"),
      natsMs: middle("natsMs"),
      ownMs: middle("ownMs"),
      lagsMs: windows.flatMap(({ lagsMs }) => lagsMs).sort((one, other) => one - other),
    };
  }

  async subscribe(count: number, hubAt = 0): Promise<void> {
    const url = this.#urls[hubAt];
    if (url === undefined) return;
    for (let at = 0; at < count; at++) {
      await new Promise<void>((resolve) => {
        const request = get(`${url}/v1/rooms/${this.#roomCode}/events`, (response) => {
          response.resume();
          resolve();
        });
        this.#stack.defer(() => void request.destroy());
        request.on("error", () => {});
      });
    }
  }

  #cpu(): { hubMs: number; natsMs: number; ownMs: number } {
    const { user, system } = process.cpuUsage();
    return {
      hubMs: this.hubs.reduce((sum, { pid }) => sum + fineCpuMsOf(pid), 0),
      natsMs: fineCpuMsOf(this.#nats.pid),
      ownMs: (user + system) / 1_000,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#maker.stop();
    await this.#stack.disposeAsync();
  }
}

/** What of this cluster is another hub's is seen here a moment later: the nickname is when it was changed. */
class LagMeter extends Replica {
  lagsMs: number[] = [];

  override participantChanged(...args: Parameters<Replica["participantChanged"]>): void {
    const [, , entry] = args;
    const changedMs = Number(entry?.nickname);
    if (changedMs > 0) this.lagsMs.push(performance.timeOrigin + performance.now() - changedMs);
  }
}

async function openLab(count: number): Promise<Lab> {
  const stack = new AsyncDisposableStack();
  const nats = stack.use(await startNatsServer());
  const children = stack.use(new Children({ NODE_OPTIONS: "--expose-gc" }));
  const directory = new NatsDirectory({ servers: [nats.url] });
  stack.use(closing(directory));
  const lags = new LagMeter();
  await directory.open(lags);
  // The owner of all entries that are made here.
  directory.announce(() => aPresence("00000000000000aa"));
  const program = new URL("../programs/cluster-hub.ts", import.meta.url);
  const hubs = await Promise.all(
    Array.from({ length: count }, () => children.program<ClusterHubHandlers>(program, [nats.url])),
  );
  const urls = await Promise.all(hubs.map((hub) => hub.call("url")));
  const response = await fetch(`${urls[0]}/v1/rooms`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name: "bench" }),
  });
  const { room } = (await response.json()) as { room: { code: string } };
  await pauseMs(settleMs);
  return new Lab(stack, nats, hubs, urls, room.code, directory, lags);
}

function closing(directory: NatsDirectory): AsyncDisposable & { directory: NatsDirectory } {
  return { directory, [Symbol.asyncDispose]: () => directory.close() };
}
