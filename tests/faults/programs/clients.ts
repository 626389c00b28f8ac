/** Many clients in a process of their own. */
import { type Call, type CallOutcome, type CallWish, startCall } from "../client-call.ts";
import { sharedNowMs } from "../shared-clock.ts";
import { serveHarness } from "./rpc.ts";

/** A steady stream of ordinary requests: half of them streams, both surfaces in turn. */
export interface LoadWish {
  baseUrl: string;
  model: string;
  perSecond: number;
  words: number;
  chunkDelayMs: number;
}

const calls = new Map<string, Call>();
const loads: { timer: NodeJS.Timeout; outcomes: Promise<CallOutcome>[] }[] = [];
let loadNumber = 0;
const healthMs: number[] = [];
let healthTimer: NodeJS.Timeout | undefined;

const handlers = {
  /** Resolves when it was sent; `outcome` waits for its end. */
  start(wish: CallWish) {
    calls.set(wish.tag, startCall(wish));
  },
  startAll(wishes: CallWish[]) {
    for (const wish of wishes) calls.set(wish.tag, startCall(wish));
  },
  async outcome(tag: string): Promise<CallOutcome> {
    const outcome = await callOf(tag).ended;
    calls.delete(tag);
    return outcome;
  },
  async outcomes(tags: string[]): Promise<CallOutcome[]> {
    const outcomes = await Promise.all(tags.map((tag) => callOf(tag).ended));
    for (const tag of tags) calls.delete(tag);
    return outcomes;
  },
  reached: ({ tag, pieces }: { tag: string; pieces: number }) => callOf(tag).reached(pieces),
  pieces: (tag: string) => callOf(tag).pieces,
  leave: (tag: string) => callOf(tag).leave(),
  goOn: (tag: string) => callOf(tag).goOn(),
  /** Makes each with a pause between them; at most `atOnce` are open. Resolves with all of them, in the order they ended. */
  async inTurn({
    wishes,
    atOnce,
    pauseMs,
  }: {
    wishes: CallWish[];
    atOnce: number;
    pauseMs: number;
  }) {
    const outcomes: CallOutcome[] = [];
    const left = [...wishes];
    async function work(): Promise<void> {
      for (let wish = left.shift(); wish !== undefined; wish = left.shift()) {
        outcomes.push(await startCall(wish).ended);
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
    await Promise.all(Array.from({ length: atOnce }, work));
    return outcomes;
  },
  startHealth({ url, everyMs }: { url: string; everyMs: number }) {
    healthMs.splice(0);
    healthTimer = setInterval(() => {
      const askedMs = sharedNowMs();
      void fetch(`${url}/health`)
        .then((response) => response.arrayBuffer())
        .then(
          () => healthMs.push(sharedNowMs() - askedMs),
          () => healthMs.push(Number.POSITIVE_INFINITY),
        );
    }, everyMs);
  },
  /** @returns the time of each response in ms; infinite for none */
  stopHealth() {
    clearInterval(healthTimer);
    // JSON has no infinity.
    return healthMs.map((ms) => Math.min(ms, 1e9));
  },
  startLoad({ baseUrl, model, perSecond, words, chunkDelayMs }: LoadWish) {
    const outcomes: Promise<CallOutcome>[] = [];
    const timer = setInterval(() => {
      const number = ++loadNumber;
      const stream = number % 2 === 0;
      const call = startCall({
        tag: `load-${number}`,
        baseUrl,
        surface: number % 4 < 2 ? "chat/completions" : "responses",
        stream,
        model,
        behaviour: { kind: "normal", words, ...(stream ? { chunkDelayMs } : {}) },
      });
      outcomes.push(call.ended);
    }, 1_000 / perSecond);
    loads.push({ timer, outcomes });
  },
  /** Resolves when every request of the load has ended. */
  async stopLoads(): Promise<CallOutcome[]> {
    const stopped = loads.splice(0);
    for (const { timer } of stopped) clearInterval(timer);
    return (await Promise.all(stopped.map(({ outcomes }) => Promise.all(outcomes)))).flat();
  },
};
export type ClientHandlers = typeof handlers;

function callOf(tag: string): Call {
  const call = calls.get(tag);
  if (call === undefined) throw new Error(`no call ${tag}`);
  return call;
}

serveHarness(handlers);
