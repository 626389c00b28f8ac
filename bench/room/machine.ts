import { bytesPerToken, type Conversation, type RoomRequest } from "./traffic.ts";

export interface MachineSpec {
  slots: number;
  /** what every request costs besides its prompt; 30 by default */
  fixedMs?: number;
  /** the longest prompt, in bytes; longer ones are refused at once. Any length by default */
  contextBytes?: number;
  /** prompt bytes per ms, of all slots together */
  promptRate: number;
  /** tokens per ms of a lone request */
  tokenRate: number;
  loadMs: number;
  /** what each further request costs the others' generation, as a share of a lone request's time per token */
  batchCost: number;
}

/** One request in a slot. */
export interface Job {
  readonly request: RoomRequest;
  readonly startedMs: number;
  /** of the prompt, which the slot had in its cache */
  readonly warmBytes: number;
  /** whether it loaded the model, or waited for another request that did */
  readonly load: "none" | "own" | "shared";
  firstMs: number | undefined;
}

interface RunningJob extends Job {
  /** undefined while it waits for one in the model server's own queue */
  slot: Slot | undefined;
  warmBytes: number;
  load: Job["load"];
  /** left of the current phase: ms, bytes or tokens */
  left: number;
  phase: "queue" | "load" | "prompt" | "generate";
}

/** A prefix that a slot has computed. */
interface CachedPrompt {
  conversation: Conversation;
  bytes: number;
}

interface Slot {
  job: RunningJob | undefined;
  /** least recently used first */
  cache: CachedPrompt[];
  usedMs: number;
}

export interface JobEvent {
  /** `refused`: the prompt is longer than the machine's context */
  kind: "first" | "end" | "refused";
  job: Job;
}

const cachedPerSlot = 4;
const usualFixedMs = 30;

/** What a lone request takes on a machine that has nothing of its prompt, in ms. */
export function loneMs(
  { promptRate, tokenRate, fixedMs = usualFixedMs }: MachineSpec,
  { promptBytes, responseTokens }: Pick<RoomRequest, "promptBytes" | "responseTokens">,
): number {
  return fixedMs + promptBytes / promptRate + responseTokens / tokenRate;
}

/**
 * A model server as it is in truth. Slots that read prompts share the machine's rate for it; those that generate slow
 * each other down a little. A request takes the free slot that has most of its prompt, of several the least recently used.
 */
export class Machine {
  readonly spec: MachineSpec;
  /** requests that the hub sends at once; those beyond the slots wait in the model server */
  limit: number;
  isPresent = true;
  isLoaded = true;
  readonly #slots: Slot[];
  #jobs: RunningJob[] = [];
  #nowMs = 0;

  constructor(spec: MachineSpec, limit: number = spec.slots) {
    this.spec = spec;
    this.limit = limit;
    this.#slots = Array.from({ length: spec.slots }, () => ({
      ...{ job: undefined, cache: [], usedMs: 0 },
    }));
  }

  get #fixedMs(): number {
    return this.spec.fixedMs ?? usualFixedMs;
  }

  get jobs(): readonly Job[] {
    return this.#jobs;
  }

  get hasRoom(): boolean {
    return this.isPresent && this.#jobs.length < this.limit;
  }

  start(request: RoomRequest, nowMs: number): Job {
    const job: RunningJob = {
      ...{ request, startedMs: nowMs, warmBytes: 0, load: "none", firstMs: undefined },
      ...{ slot: undefined, phase: "queue", left: Number.POSITIVE_INFINITY },
    };
    this.#jobs.push(job);
    this.#fillSlots(nowMs);
    return job;
  }

  #fillSlots(nowMs: number): void {
    for (const job of this.#jobs) {
      if (job.slot !== undefined) continue;
      const slot = this.#slotFor(job.request);
      if (slot === undefined) return;
      job.slot = slot;
      slot.job = job;
      slot.usedMs = nowMs;
      job.warmBytes = warmIn(slot, job.request);
      job.load = this.isLoaded ? (this.#loadLeft() > 0 ? "shared" : "none") : "own";
      job.phase = "load";
      job.left = this.#fixedMs + (this.isLoaded ? this.#loadLeft() : this.spec.loadMs);
      this.isLoaded = true;
    }
  }

  #slotFor(request: RoomRequest): Slot | undefined {
    let slot: Slot | undefined;
    for (const one of this.#slots) {
      if (one.job !== undefined) continue;
      if (slot === undefined || suitsBetter(one, slot, request)) slot = one;
    }
    return slot;
  }

  /** The machine leaves: its requests fail, its caches are lost. @returns the requests */
  leave(): RoomRequest[] {
    const requests = this.#jobs.map(({ request }) => request);
    this.#jobs = [];
    for (const slot of this.#slots) {
      slot.job = undefined;
      slot.cache = [];
    }
    this.isPresent = false;
    return requests;
  }

  /** The model server drops the model and its caches, for another one. */
  unload(): void {
    this.isLoaded = false;
    for (const slot of this.#slots) slot.cache = [];
  }

  /** When the next phase of a request ends; infinite when none runs. */
  nextMs(): number {
    const running = this.#running;
    return Math.min(
      Number.POSITIVE_INFINITY,
      ...running.map((job) => this.#nowMs + job.left / this.#rateOf(job, running)),
    );
  }

  /** Time passes, at most up to {@link nextMs}. */
  advance(nowMs: number): JobEvent[] {
    const running = this.#running;
    const rates = running.map((job) => this.#rateOf(job, running));
    const elapsedMs = nowMs - this.#nowMs;
    this.#nowMs = nowMs;
    for (const [index, job] of running.entries()) job.left -= elapsedMs * (rates[index] ?? 0);
    return running.filter(({ left }) => left <= 1e-6).flatMap((job) => this.#nextPhase(job));
  }

  /** In truth, from a slot now to the first token. */
  firstMsOf(request: RoomRequest): number {
    const free = this.#slots.filter(({ job }) => job === undefined);
    const warm = Math.max(0, ...free.map((slot) => warmIn(slot, request)));
    const readers = this.#running.filter(({ phase }) => phase !== "generate").length;
    const loadMs = this.isLoaded ? this.#loadLeft() : this.spec.loadMs;
    return (
      this.#fixedMs + loadMs + ((request.promptBytes - warm) * (readers + 1)) / this.spec.promptRate
    );
  }

  /**
   * In truth, to the first token of a request that waits for one of the slots.
   *
   * @param ahead - requests that take a freed slot first
   */
  waitMsOf(request: RoomRequest, ahead: number): { waitMs: number; firstMs: number } {
    const ends = this.#running
      .map((job) => ({ job, leftMs: this.#leftMsOf(job) }))
      .sort((one, other) => one.leftMs - other.leftMs);
    const end = ends[ahead];
    if (end === undefined) return { waitMs: Number.POSITIVE_INFINITY, firstMs: 0 };
    const warm = Math.max(
      0,
      ...ends
        .slice(0, ahead + 1)
        .map(({ job }) => (job.slot === undefined ? 0 : warmIn(job.slot, request))),
    );
    return {
      waitMs: end.leftMs,
      firstMs: this.#fixedMs + (request.promptBytes - warm) / this.spec.promptRate,
    };
  }

  get #running(): RunningJob[] {
    return this.#jobs.filter(({ slot }) => slot !== undefined);
  }

  /** Until the model that another request loads is there. */
  #loadLeft(): number {
    const loading = this.#running.filter(({ phase, load }) => phase === "load" && load === "own");
    return Math.max(0, ...loading.map(({ left }) => left - this.#fixedMs));
  }

  #rateOf({ phase }: RunningJob, running: readonly RunningJob[]): number {
    const { promptRate, tokenRate, batchCost } = this.spec;
    switch (phase) {
      case "queue":
        return 0;
      case "load":
        return 1;
      case "prompt":
        return promptRate / running.filter((one) => one.phase === "prompt").length;
      case "generate":
        return tokenRate / (1 + batchCost * (running.length - 1));
    }
  }

  #leftMsOf(job: RunningJob): number {
    const running = this.#running;
    const nowMs = job.left / this.#rateOf(job, running);
    const tokenMs = (1 + this.spec.batchCost * (running.length - 1)) / this.spec.tokenRate;
    const tokensMs = job.request.responseTokens * tokenMs;
    if (job.phase === "generate") return nowMs;
    const promptMs = (job.request.promptBytes - job.warmBytes) / this.spec.promptRate;
    return nowMs + tokensMs + (job.phase === "load" ? promptMs : 0);
  }

  #nextPhase(job: RunningJob): JobEvent[] {
    switch (job.phase) {
      case "queue":
        return [];
      case "load":
        if (job.request.promptBytes > (this.spec.contextBytes ?? Number.POSITIVE_INFINITY)) {
          this.#release(job, false);
          return [{ kind: "refused", job }];
        }
        job.phase = "prompt";
        job.left = Math.max(1, job.request.promptBytes - job.warmBytes);
        return [];
      case "prompt":
        job.phase = "generate";
        job.left = job.request.responseTokens;
        job.firstMs = this.#nowMs;
        return [{ kind: "first", job }];
      case "generate":
        this.#release(job, true);
        return [{ kind: "end", job }];
    }
  }

  #release(job: RunningJob, isCached: boolean): void {
    this.#jobs.splice(this.#jobs.indexOf(job), 1);
    if (job.slot === undefined) return;
    job.slot.job = undefined;
    if (isCached) keep(job.slot, job.request);
    this.#fillSlots(this.#nowMs);
  }
}

/** How much of the prompt the slot's cache has: of the same conversation, or of the same system prompt. */
function warmIn({ cache }: Slot, { conversation, promptBytes }: RoomRequest): number {
  const shared = cache.map((cached) => {
    if (cached.conversation.id === conversation.id) return Math.min(cached.bytes, promptBytes);
    return cached.conversation.system === conversation.system ? conversation.systemBytes : 0;
  });
  return Math.max(0, ...shared);
}

function keep(slot: Slot, { conversation, promptBytes, responseTokens }: RoomRequest): void {
  slot.cache = slot.cache.filter((cached) => cached.conversation.id !== conversation.id);
  slot.cache.push({ conversation, bytes: promptBytes + responseTokens * bytesPerToken });
  if (slot.cache.length > cachedPerSlot) slot.cache.shift();
}

function suitsBetter(one: Slot, other: Slot, request: RoomRequest): boolean {
  const gain = warmIn(one, request) - warmIn(other, request);
  return gain > 0 || (gain === 0 && one.usedMs < other.usedMs);
}
