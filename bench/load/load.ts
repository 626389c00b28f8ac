import { answerBytes } from "../../tests/support/providers/fast-provider.ts";
import { Connection } from "./connection.ts";
import { fineCpuMsOf } from "../figures/process-cpu.ts";
import { type Spread, spreadOf } from "../figures/spread.ts";
import { type Ask, requestBytes, type Target } from "./target.ts";

export interface LoadWish {
  target: Target;
  ask: Ask;
  connections: number;
  /** the connections begin one after the other, spread over this */
  rampMs: number;
  /** after the ramp, before anything counts */
  warmupMs: number;
  windowMs: number;
  /** each connection asks again when it is answered; when given, so many requests a second for all of them instead */
  perSecond?: number | undefined;
  /** each connection asks once, and all answers are awaited, however long the window */
  isOnce?: boolean | undefined;
  /** further processes whose time is told, by name */
  pids: Record<string, number>;
}

/** What was seen within the window. */
export interface LoadResult {
  seconds: number;
  answers: number;
  tokens: number;
  /** every answer had status 200 and exactly the bytes it should; otherwise what was wrong, a few of them */
  problems: string[];
  problemCount: number;
  /** user and system time by process; `target` and `load` among them */
  cpuMs: Record<string, number>;
  firstByteMs: Spread;
  /** between two tokens of an answer */
  gapMs: Spread;
  /** from asking to the last byte */
  wholeMs: Spread;
}

/** Puts load on a target and tells what it cost. Never rejects: what goes wrong is in the result. */
export async function runLoad(wish: LoadWish): Promise<LoadResult> {
  const run = new LoadRun(wish);
  try {
    if (wish.isOnce === true) return await run.once();
    await run.begin();
    return await run.window(wish.windowMs);
  } finally {
    run.close();
  }
}

/** What came back within a window. */
class Counts {
  answers = 0;
  tokens = 0;
  readonly firstByteMs: number[] = [];
  readonly gapMs: number[] = [];
  readonly wholeMs: number[] = [];
}

/** A load that goes on from `begin()` to `close()`, and is looked at through windows. */
export class LoadRun {
  readonly #wish: LoadWish;
  readonly #requests: Buffer[];
  readonly #idle: Connection[] = [];
  readonly #connections: Connection[] = [];
  readonly #problems: string[] = [];
  readonly #allAnswered = Promise.withResolvers<void>();
  #expectedBytes: number | undefined;
  #problemCount = 0;
  /** of the connections that ask once */
  #ended = 0;
  /** undefined between windows */
  #counts: Counts | undefined;
  #isOver = false;
  #pacer: NodeJS.Timeout | undefined;

  constructor(wish: LoadWish) {
    this.#wish = wish;
    const { target, ask } = wish;
    this.#requests = target.models.map((model) => requestBytes(target, model, ask));
    this.#expectedBytes = target.isTransparent ? answerBytes(ask.plain) : undefined;
  }

  /** Each connection asks once; over when all are answered. */
  once(): Promise<LoadResult> {
    return this.#counted(async () => {
      await this.#ramp(this.#wish.rampMs);
      await this.#allAnswered.promise;
    });
  }

  /** Over when nothing but the load goes on. */
  async begin(): Promise<void> {
    this.#startPacer();
    await this.#ramp(this.#wish.rampMs);
    await pauseMs(this.#wish.warmupMs);
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
    const { connections } = this.#wish;
    const startMs = performance.now();
    for (let index = 0; index < connections; index++) {
      const aheadMs = startMs + (index * rampMs) / connections - performance.now();
      if (aheadMs > 1) await pauseMs(aheadMs);
      this.#connect(index);
    }
  }

  #connect(index: number): void {
    const request = this.#requests[index % this.#requests.length] as Buffer;
    const connection = new Connection(this.#wish.target.port, request, {
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
      onAnswer: (status, bytes, ms) => this.#onAnswer(connection, status, bytes, ms),
      onBroken: (why) => {
        this.#problem(why);
        if (this.#wish.isOnce === true) this.#countOnce();
      },
    });
    this.#connections.push(connection);
    if (this.#wish.perSecond === undefined) connection.ask();
    else this.#idle.push(connection);
  }

  #onAnswer(connection: Connection, status: number, bytes: number, ms: number): void {
    this.#expectedBytes ??= bytes;
    if (status !== 200 || bytes !== this.#expectedBytes) {
      this.#problem(`status ${status}, ${bytes} bytes instead of ${this.#expectedBytes}`);
    }
    if (this.#counts !== undefined) {
      this.#counts.answers++;
      this.#counts.wholeMs.push(ms);
    }
    if (this.#isOver) return;
    if (this.#wish.isOnce === true) this.#countOnce();
    else if (this.#wish.perSecond === undefined) connection.ask();
    else this.#idle.push(connection);
  }

  #countOnce(): void {
    if (++this.#ended === this.#wish.connections) this.#allAnswered.resolve();
  }

  /** What is due is asked at once; a target that falls behind is asked by fewer and fewer, and then late. */
  #startPacer(): void {
    const { perSecond } = this.#wish;
    if (perSecond === undefined) return;
    const startMs = performance.now();
    let asked = 0;
    this.#pacer = setInterval(() => {
      const due = Math.floor(((performance.now() - startMs) * perSecond) / 1_000);
      for (; asked < due; asked++) {
        const connection = this.#idle.shift();
        if (connection === undefined) return;
        connection.ask();
      }
    }, 1);
  }

  #problem(what: string): void {
    this.#problemCount++;
    if (this.#problems.length < 5) this.#problems.push(what);
  }

  #cpuMs(): Record<string, number> {
    const { target, pids } = this.#wish;
    const all = { ...pids, target: target.pid, load: process.pid };
    return Object.fromEntries(Object.entries(all).map(([name, pid]) => [name, fineCpuMsOf(pid)]));
  }

  #result(counts: Counts, before: Record<string, number>, startMs: number): LoadResult {
    const after = this.#cpuMs();
    const seconds = (performance.now() - startMs) / 1_000;
    return {
      seconds,
      answers: counts.answers,
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
