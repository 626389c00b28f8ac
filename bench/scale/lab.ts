import { get } from "node:http";
import { NatsDirectory } from "@roomhub/hub";
import { aPresence, Replica } from "../../packages/hub/src/cluster/directory-compliance.fixture.ts";
import { Children, type Program } from "../../tests/faults/child.ts";
import { pauseMs } from "../../tests/faults/figure.ts";
import { startNatsServer, type NatsServer } from "../../tests/support/programs/nats-server.ts";
import { fineCpuMsOf } from "../figures/process-cpu.ts";
import { median } from "../figures/spread.ts";
import type { ClusterHubHandlers } from "../programs/cluster-hub.ts";
import { ChangeMaker, type ChangeRates } from "./change-maker.ts";

export const windowMs = 2_000;
export const settleMs = 300;
const windowsOfEach = 3;

/** What was seen in {@link windowMs}. */
export interface Window {
  /** changes and events of this process */
  made: number;
  /** of all hubs together */
  hubMs: number;
  natsMs: number;
  ownMs: number;
  lagsMs: number[];
}

/** Hubs with a nats-server, and this process as one of them. */
export class Lab implements AsyncDisposable {
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

export async function openLab(count: number): Promise<Lab> {
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
