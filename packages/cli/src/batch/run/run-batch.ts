import {
  isLiveAndReady,
  isSameModel,
  type ParticipantSummary,
  pause,
  type World,
} from "@roomhub/protocol";
import { Lane } from "./lane.ts";
import type { Batch } from "./open-batch.ts";
import { outcomeOf } from "./outcome-line.ts";
import type { SendRequest } from "./send-request.ts";
import { factsOf, judge } from "./verdict.ts";

/** A room, as a batch uses it. */
interface BatchRoom {
  send: SendRequest;
  listParticipants: (signal: AbortSignal) => Promise<ParticipantSummary[]>;
  /** names that requests can have in `model`, aliases among them */
  listModels: (signal: AbortSignal) => Promise<{ id: string }[]>;
}

export interface RunOptions {
  world: World;
  room: BatchRoom;
  /** requests at the room at once; `auto`: as many as it takes */
  concurrency: number | "auto";
  /** how often a request is sent that is lost while it runs; refusals do not count */
  maxAttempts: number;
  /** epoch ms at which the batch stops; undefined for never */
  untilMs: number | undefined;
  /** stops the batch */
  signal: AbortSignal;
  /** whenever a figure of {@link BatchProgress} changes */
  onProgress?: (progress: BatchProgress) => void;
}

/** How far a batch is, since this run began where it does not say otherwise. */
export interface BatchProgress {
  /** of the whole batch */
  total: number;
  /** of the whole batch: results on the disk */
  completed: number;
  /** of the whole batch: errors on the disk */
  failed: number;
  /** requests at the room now */
  running: number;
  /** results on the disk */
  finishedInRun: number;
  /** as model servers report them */
  outputTokens: number;
  /** results by participant id */
  byParticipant: ReadonlyMap<string, number>;
  /** why nothing runs now, as the room says it; undefined while something does */
  waitsFor: string | undefined;
}

export type BatchEnd =
  | { kind: "finished" }
  /** the same batch continues with another run */
  | { kind: "stopped"; why: "signal" | "until" }
  /** no request can run until a person acts; then the same batch continues */
  | { kind: "hopeless"; code: string; reason: string };

/** The most requests that are at the room at once, whatever it takes. */
const maxRunning = 256;
/** What runs when the batch stops may end within this time. */
const graceMs = 10_000;
/** The hub's list says how many slots there are, and who waits for them. */
const watchMs = 5_000;
/** So many requests of batches may wait in the room, others' included, before this batch sends no more. */
const mostWaiting = 64;

/**
 * Sends the requests of a batch that have no result yet, until each has one or the batch is stopped.
 *
 * @throws Error when results cannot be written
 */
export function runBatch(batch: Batch, options: RunOptions): Promise<BatchEnd> {
  return new BatchRun(batch, options).run();
}

class BatchRun {
  readonly #batch: Batch;
  readonly #options: RunOptions;
  readonly #lanes: LaneOfBatch[];
  readonly #calls = new AbortController();
  readonly #byParticipant = new Map<string, number>();
  readonly #working = new Set<Promise<void>>();
  #outputTokens = 0;
  #finishedInRun = 0;
  #running = 0;
  #isCrowded = false;
  #isEmptyRoom = false;
  #waitsFor: string | undefined;
  #end: BatchEnd | undefined;
  #failure: { error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(batch: Batch, options: RunOptions) {
    this.#batch = batch;
    this.#options = options;
    const { concurrency, world } = options;
    const fixedWindow = concurrency === "auto" ? undefined : concurrency;
    const lane = { fixedWindow, random: () => world.random() };
    this.#lanes = batch.input.models.map((model, at) => ({
      ...{ model, lane: new Lane(lane), fresh: freshOf(batch, at) },
    }));
  }

  async run(): Promise<BatchEnd> {
    const { signal, untilMs } = this.#options;
    const stop = () => this.#stop({ kind: "stopped", why: "signal" });
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const timers = new AbortController();
    if (untilMs !== undefined) void this.#stopAt(untilMs, timers.signal);
    await this.#look(signal);
    const watching = this.#watch(timers.signal);
    try {
      while (!this.#isOver()) {
        const wakeMs = this.#sendSome();
        await this.#woken(wakeMs);
      }
      timers.abort();
      await this.#settle();
    } finally {
      timers.abort();
      signal.removeEventListener("abort", stop);
      this.#calls.abort();
      await Promise.allSettled([...this.#working, watching]);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    return this.#isFinished || this.#end === undefined ? { kind: "finished" } : this.#end;
  }

  get #isFinished(): boolean {
    const { total, completed, failed } = this.#batch.counts;
    return completed + failed === total;
  }

  #isOver(): boolean {
    return this.#end !== undefined || this.#failure !== undefined || this.#isFinished;
  }

  #stop(end: BatchEnd): void {
    this.#end ??= end;
    this.#wake();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#calls.abort();
    this.#wake();
  }

  /** Timers of some platforms end after 24 days at most, and clocks are set: it looks again every minute. */
  async #stopAt(untilMs: number, signal: AbortSignal): Promise<void> {
    const { world } = this.#options;
    while (!signal.aborted && world.wallMs() < untilMs) {
      await pause(world, Math.min(60_000, untilMs - world.wallMs()), signal);
    }
    if (!signal.aborted) this.#stop({ kind: "stopped", why: "until" });
  }

  /** Sends what may be sent now. @returns when more may be, if no response comes before; ms on the monotonic clock */
  #sendSome(): number | undefined {
    const nowMs = this.#options.world.monotonicMs();
    const { concurrency } = this.#options;
    const most = concurrency === "auto" ? maxRunning : concurrency;
    let hasSent = true;
    while (hasSent && !this.#isCrowded) {
      hasSent = false;
      // One of each in turn: a lane that takes a lot leaves places for the others.
      for (const one of this.#lanes) {
        if (this.#running >= most) break;
        const number = one.lane.take(nowMs, one.fresh);
        if (number === undefined) continue;
        hasSent = true;
        this.#start(one, number);
      }
    }
    const wakes = this.#lanes.map(({ lane }) => lane.wakeMs(nowMs));
    const first = Math.min(...wakes.map((wake) => wake ?? Number.POSITIVE_INFINITY));
    return Number.isFinite(first) ? first : undefined;
  }

  #start(lane: LaneOfBatch, number: number): void {
    this.#running++;
    const work = this.#do(lane, number)
      .catch((error: unknown) => {
        if (!this.#calls.signal.aborted) this.#fail(error);
      })
      .finally(() => {
        this.#running--;
        this.#working.delete(work);
        this.#report();
        this.#wake();
      });
    this.#working.add(work);
    this.#report();
  }

  async #do({ lane, model }: LaneOfBatch, number: number): Promise<void> {
    const { room, world, maxAttempts } = this.#options;
    const { customId, body } = await this.#batch.input.read(number);
    const sentMs = world.monotonicMs();
    const result = await room.send(this.#batch.input.url, body, this.#calls.signal);
    const nowMs = world.monotonicMs();
    const verdict = judge(result, this.#isEmptyRoom || this.#batch.hasSeen(model ?? ""));
    this.#waitsFor =
      verdict.kind === "refused" || verdict.kind === "hopeless" ? verdict.reason : undefined;
    if (verdict.kind === "refused") return lane.refuse(number, nowMs, verdict.retryAfterMs);
    if (verdict.kind === "hopeless") {
      lane.refuse(number, nowMs);
      const { code, reason } = verdict;
      return this.#stop({ kind: "hopeless", code, reason });
    }
    if (verdict.kind === "lost" && lane.lose(number, nowMs, maxAttempts)) return;
    const { queueMs, participantId, outputTokens } = factsOf(result);
    if (verdict.kind !== "lost") lane.finish(number, queueMs, sentMs, nowMs);
    const isCompleted = verdict.kind === "completed";
    if (isCompleted && model !== undefined) await this.#batch.see([model]);
    await this.#batch.record(
      number,
      customId,
      isCompleted ? "output" : "errors",
      outcomeOf(result),
    );
    this.#finishedInRun++;
    this.#outputTokens += outputTokens;
    if (participantId !== undefined) {
      this.#byParticipant.set(participantId, (this.#byParticipant.get(participantId) ?? 0) + 1);
    }
  }

  #report(): void {
    const { completed, failed, total } = this.#batch.counts;
    this.#options.onProgress?.({
      ...{ total, completed, failed, running: this.#running, finishedInRun: this.#finishedInRun },
      outputTokens: this.#outputTokens,
      byParticipant: this.#byParticipant,
      waitsFor: this.#waitsFor,
    });
  }

  /** Resolves at the time, or when something has changed before. */
  async #woken(atMs: number | undefined): Promise<void> {
    const { world } = this.#options;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const waitMs = atMs === undefined ? watchMs : Math.max(0, atMs - world.monotonicMs());
    await pause(world, waitMs, woken.signal);
  }

  /** What runs when the batch stops may end. */
  async #settle(): Promise<void> {
    const grace = new AbortController();
    const all = Promise.all(this.#working).then(() => grace.abort());
    await Promise.race([all, pause(this.#options.world, graceMs, grace.signal)]);
  }

  async #watch(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(this.#options.world, watchMs, signal);
      if (signal.aborted) return;
      await this.#look(signal);
      this.#wake();
    }
  }

  /** Looks who is in the room. What cannot be seen stays as it was. */
  async #look(signal: AbortSignal): Promise<void> {
    const { room } = this.#options;
    try {
      const participants = await room.listParticipants(signal);
      const models = await room.listModels(signal);
      this.#isEmptyRoom = participants.length === 0;
      this.#isCrowded = batchesWaiting(participants) >= mostWaiting;
      const nowMs = this.#options.world.monotonicMs();
      for (const { lane, model } of this.#lanes) {
        lane.setSlots(slotsFor(model, participants), nowMs);
      }
      await this.#batch.see([...models.map(({ id }) => id), ...namesIn(participants)]);
    } catch {
      // Requests learn sooner than lists that a hub is away, and for how long.
    }
  }
}

interface LaneOfBatch {
  lane: Lane;
  model: string | undefined;
  fresh: () => number | undefined;
}

/** The next request of a model that was never sent, in the order of the input. */
function freshOf(batch: Batch, modelNumber: number): () => number | undefined {
  const { input } = batch;
  let next = 0;
  return () => {
    while (next < input.count) {
      const number = next++;
      if (input.modelOf(number) === modelNumber && !batch.isFinished(number)) return number;
    }
    return undefined;
  };
}

/**
 * How many requests of batches for a model could run in a room at once.
 *
 * @param model - a value of the `model` field; undefined for several
 * @returns undefined for one that no participant has, such as an alias
 */
function slotsFor(
  model: string | undefined,
  participants: readonly ParticipantSummary[],
): number | undefined {
  const isAny = model === undefined || model === "" || model === "*";
  const serving = participants.filter((one) => isAny || isNamed(one, model));
  if (serving.length === 0) return undefined;
  return serving
    .filter((one) => isLiveAndReady(one) && one.batches !== false)
    .reduce((sum, { load }) => sum + load.limit, 0);
}

/** The requests of batches that wait in a room: at least so many. */
function batchesWaiting(participants: readonly ParticipantSummary[]): number {
  // Each participant counts all that could run there.
  return Math.max(0, ...participants.map(({ load }) => load.batch?.queued ?? 0));
}

/** Values of the `model` field that name the participants. */
function namesIn(participants: readonly ParticipantSummary[]): string[] {
  return participants.flatMap(({ id, model }) => [id, model, `model:${model}`]);
}

function isNamed(one: ParticipantSummary, model: string): boolean {
  return one.id === model || isSameModel(one.model, model.replace(/^model:/, ""));
}
