import { answerBytes } from "../../tests/support/providers/fast-provider.ts";
import { Connection } from "./connection.ts";
import { fineCpuMsOf } from "../figures/process-cpu.ts";
import { type Spread, spreadOf } from "../figures/spread.ts";
import { type RequestShape, requestBytes, type Target } from "./target.ts";

export interface LoadSettings {
  target: Target;
  shape: RequestShape;
  connections: number;
  /** the connections begin one after the other, spread over this */
  rampMs: number;
  /** after the ramp, before anything counts */
  warmupMs: number;
  windowMs: number;
  /** each connection sends its next request after the response; when given, this many requests a second over all of them instead */
  perSecond?: number | undefined;
  /** each connection sends one request, and all responses are awaited, however long the window */
  isOnce?: boolean | undefined;
  /** the same, and then once more, all at the same moment: that is what counts */
  isBurst?: boolean | undefined;
  /** further processes whose CPU time is reported, by name */
  pids: Record<string, number>;
}

/** What was seen within the window. */
export interface LoadResult {
  seconds: number;
  responses: number;
  tokens: number;
  /** at most five of the responses that were not status 200 with exactly the expected bytes */
  problems: string[];
  problemCount: number;
  /** user and system time by process; `target` and `load` among them */
  cpuMs: Record<string, number>;
  firstByteMs: Spread;
  /** between two tokens of a response */
  gapMs: Spread;
  /** from sending the request to the last byte */
  wholeMs: Spread;
}

/** Puts load on a target and measures its cost. Never rejects: failures are in the result. */
export async function runLoad(settings: LoadSettings): Promise<LoadResult> {
  const run = new LoadRun(settings);
  try {
    if (settings.isOnce === true) return await run.once();
    if (settings.isBurst === true) return await run.burst();
    await run.begin();
    return await run.window(settings.windowMs);
  } finally {
    run.close();
  }
}

/** What was received within a window. */
class Counts {
  responses = 0;
  tokens = 0;
  readonly firstByteMs: number[] = [];
  readonly gapMs: number[] = [];
  readonly wholeMs: number[] = [];
}

/** A load that runs from `begin()` to `close()`, and is measured in windows. */
export class LoadRun {
  readonly #settings: LoadSettings;
  readonly #requests: Buffer[];
  readonly #idle: Connection[] = [];
  readonly #connections: Connection[] = [];
  readonly #problems: string[] = [];
  #allEnded = Promise.withResolvers<void>();
  #expectedBytes: number | undefined;
  #problemCount = 0;
  /** of the connections that send once */
  #ended = 0;
  /** undefined between windows */
  #counts: Counts | undefined;
  #isOver = false;
  #pacer: NodeJS.Timeout | undefined;

  constructor(settings: LoadSettings) {
    this.#settings = settings;
    const { target, shape } = settings;
    this.#requests = target.models.map((model) => requestBytes(target, model, shape));
    this.#expectedBytes = target.isTransparent ? answerBytes(shape.plain) : undefined;
  }

  /** Each connection sends one request; resolves when all have ended. */
  once(): Promise<LoadResult> {
    return this.#counted(async () => {
      await this.#ramp(this.#settings.rampMs);
      await this.#allEnded.promise;
    });
  }

  /** Every connection has had a response when it sends together with all others. */
  async burst(): Promise<LoadResult> {
    await this.#ramp(this.#settings.rampMs);
    await this.#allEnded.promise;
    await pauseMs(this.#settings.warmupMs);
    this.#ended = 0;
    this.#allEnded = Promise.withResolvers();
    return this.#counted(async () => {
      for (const connection of this.#connections) connection.send();
      await this.#allEnded.promise;
    });
  }

  /** Resolves after ramp and warm-up. */
  async begin(): Promise<void> {
    this.#startPacer();
    await this.#ramp(this.#settings.rampMs);
    await pauseMs(this.#settings.warmupMs);
  }

  window(ms: number): Promise<LoadResult> {
    return this.#counted(() => pauseMs(ms));
  }

  async #counted(during: () => Promise<void>): Promise<LoadResult> {
    const counts = new Counts();
    const before = this.#cpuMs();
    const startMs = performance.now();
    this.#counts = counts;
    await during();
    this.#counts = undefined;
    return this.#result(counts, before, startMs);
  }

  close(): void {
    this.#isOver = true;
    clearInterval(this.#pacer);
    for (const connection of this.#connections) connection.close();
  }

  async #ramp(rampMs: number): Promise<void> {
    const { connections } = this.#settings;
    const startMs = performance.now();
    for (let index = 0; index < connections; index++) {
      const aheadMs = startMs + (index * rampMs) / connections - performance.now();
      if (aheadMs > 1) await pauseMs(aheadMs);
      this.#connect(index);
    }
  }

  #connect(index: number): void {
    const request = this.#requests[index % this.#requests.length] as Buffer;
    const connection = new Connection(this.#settings.target, request, {
      onFirstByte: (ms) => {
        this.#counts?.firstByteMs.push(ms);
      },
      onTokens: (count, gapMs) => {
        const counts = this.#counts;
        if (counts === undefined) return;
        counts.tokens += count;
        if (gapMs === undefined) return;
        counts.gapMs.push(gapMs);
        for (let extra = 1; extra < count; extra++) counts.gapMs.push(0);
      },
      onResponse: (status, bytes, ms) => this.#onResponse(connection, status, bytes, ms),
      onBroken: (why) => {
        this.#problem(why);
        if (this.#sendsOnce) this.#countOnce();
      },
    });
    this.#connections.push(connection);
    if (this.#settings.perSecond === undefined) connection.send();
    else this.#idle.push(connection);
  }

  #onResponse(connection: Connection, status: number, bytes: number, ms: number): void {
    this.#expectedBytes ??= bytes;
    if (status !== 200 || bytes !== this.#expectedBytes) {
      this.#problem(`status ${status}, ${bytes} bytes instead of ${this.#expectedBytes}`);
    }
    if (this.#counts !== undefined) {
      this.#counts.responses++;
      this.#counts.wholeMs.push(ms);
    }
    if (this.#isOver) return;
    if (this.#sendsOnce) this.#countOnce();
    else if (this.#settings.perSecond === undefined) connection.send();
    else this.#idle.push(connection);
  }

  get #sendsOnce(): boolean {
    return this.#settings.isOnce === true || this.#settings.isBurst === true;
  }

  #countOnce(): void {
    if (++this.#ended === this.#settings.connections) this.#allEnded.resolve();
  }

  /** Requests that are due are sent at once; when the target falls behind, no connection is idle and they are sent late. */
  #startPacer(): void {
    const { perSecond } = this.#settings;
    if (perSecond === undefined) return;
    const startMs = performance.now();
    let sent = 0;
    this.#pacer = setInterval(() => {
      const due = Math.floor(((performance.now() - startMs) * perSecond) / 1_000);
      for (; sent < due; sent++) {
        const connection = this.#idle.shift();
        if (connection === undefined) return;
        connection.send();
      }
    }, 1);
  }

  #problem(what: string): void {
    this.#problemCount++;
    if (this.#problems.length < 5) this.#problems.push(what);
  }

  #cpuMs(): Record<string, number> {
    const { target, pids } = this.#settings;
    const all = { ...pids, target: target.pid, load: process.pid };
    return Object.fromEntries(Object.entries(all).map(([name, pid]) => [name, fineCpuMsOf(pid)]));
  }

  #result(counts: Counts, before: Record<string, number>, startMs: number): LoadResult {
    const after = this.#cpuMs();
    const seconds = (performance.now() - startMs) / 1_000;
    return {
      seconds,
      responses: counts.responses,
      tokens: counts.tokens,
      problems: this.#problems,
      problemCount: this.#problemCount,
      cpuMs: Object.fromEntries(
        Object.entries(after).map(([name, ms]) => [name, ms - (before[name] ?? 0)]),
      ),
      firstByteMs: spreadOf(counts.firstByteMs),
      gapMs: spreadOf(counts.gapMs),
      wholeMs: spreadOf(counts.wholeMs),
    };
  }
}

function pauseMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
