import { type JsonObject, parseJson, serverRoot, type Timer } from "@roomhub/protocol";
import type { ServerProgram } from "../learn/fingerprints.ts";
import { probeModels, type ProbeResult } from "../learn/probe.ts";
import { type QueriedServer, type QueryResult, query, objectIn } from "../learn/query.ts";
import { lmStudioModels } from "./loaded-models.ts";

/** What is known of the requests that a model server runs at once. */
export interface EngineLoad {
  /** requests at once: as the server reports, else as its program is known to */
  slots: number;
  /**
   * Slots busy with other work than the requests that run here: a cancelled request that still runs, or another client's.
   */
  elsewhere: number;
}

export interface SlotWatchOptions extends QueriedServer {
  /** the participant's */
  model: () => string | undefined;
  /** inference requests that run here now */
  running: () => number;
  /** whether `onChange` still has a listener */
  hasListener: () => boolean;
  onChange: (load: EngineLoad | undefined) => void;
  /** `GET /props` was read, which says more than the slots. */
  onRead: (properties: JsonObject) => void;
}

/**
 * llama.cpp checks whether the client of a plain request has left after a second without sending anything. Reading the
 * slots also sends: sooner, it would keep the slot busy that it is to find free.
 */
const firstPauseMs = 2_500;
const maxPauseMs = 15_000;
/** A server that is busy for longer has other clients, and will keep them. */
const maxWatchMs = 10 * 60_000;
const lookMs = 3_000;
/** The hub probes every 10 s, and several participants may share a server. */
const propsPauseMs = 60_000;

/**
 * How many requests a model server runs at once, and how many slots of a llama-server are busy with something else.
 *
 * A llama-server's number of slots is read with a look at the server, once a minute at most. Its busy slots are read only
 * at first and after a cancelled request, until they are free: reading them counts as a request, which wakes a server that
 * sleeps. With a router, both only while the model list has the model as loaded. Nothing here loads a model.
 */
export class SlotWatch {
  readonly #options: SlotWatchOptions;
  #program: ServerProgram | undefined;
  #load: EngineLoad | undefined;
  #isRouter = false;
  #hasSlotList = false;
  #timer: Timer | undefined;
  #pauseMs = firstPauseMs;
  #watchedSinceMs = 0;
  #propsReadMs = -Infinity;
  #isReading = false;

  constructor(options: SlotWatchOptions) {
    this.#options = options;
  }

  /** undefined for a server that reports none */
  get load(): EngineLoad | undefined {
    return this.#load;
  }

  /**
   * The server returned its model list.
   *
   * @param description - what it says of itself, when that was just read
   */
  async look(
    program: ServerProgram | undefined,
    found: Pick<ProbeResult, "loaded">,
    description: JsonObject | undefined,
  ): Promise<void> {
    const isSame = program === this.#program;
    if (program !== "llama.cpp") {
      if (!isSame || description !== undefined) this.#takeUsual(program, description);
    } else {
      if (!isSame) this.#forget();
      this.#program = program;
      await this.#lookAtProps(found, description);
    }
  }

  /** The server described itself again. */
  describe(description: JsonObject): void {
    if (this.#program !== "llama.cpp") this.#takeUsual(this.#program, description);
  }

  #takeUsual(program: ServerProgram | undefined, description: JsonObject | undefined): void {
    this.close();
    this.#program = program;
    const slots = usualSlots(program, description, this.#options.model());
    this.#change(slots === undefined ? undefined : { slots, elsewhere: 0 });
  }

  /** @param properties - of `GET /props`, when that was just read */
  async #lookAtProps(
    found: Pick<ProbeResult, "loaded">,
    properties: JsonObject | undefined,
  ): Promise<void> {
    this.#isRouter = found.loaded !== undefined;
    if (!this.#isLoaded(found)) return this.#publish(0);
    const isDescribed = properties !== undefined && !this.#isRouter;
    if (!isDescribed && !this.#isPropsDue) return;
    this.#propsReadMs = this.#options.world.monotonicMs();
    const props = isDescribed ? propsIn(properties) : await this.#readProps();
    if (props === undefined) return;
    const isFirst = this.#load === undefined;
    this.#note(props, props.isAsleep ? 0 : (this.#load?.elsewhere ?? 0));
    if (!isFirst || !props.hasSlotList || props.isAsleep) return;
    this.#watchedSinceMs = this.#options.world.monotonicMs();
    await this.#read();
  }

  /** A request was cancelled; the server may still run it. */
  requestCancelled(): void {
    if (!this.#hasSlotList || this.#load === undefined) return;
    this.#watchedSinceMs = this.#options.world.monotonicMs();
    this.#pauseMs = firstPauseMs;
    this.#schedule();
  }

  close(): void {
    this.#options.world.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#hasSlotList = false;
  }

  get #isPropsDue(): boolean {
    return this.#options.world.monotonicMs() - this.#propsReadMs >= propsPauseMs;
  }

  #schedule(): void {
    const { world } = this.#options;
    world.clearTimeout(this.#timer);
    // A program that has nothing else to do may end.
    this.#timer = world.unref(world.setTimeout(() => void this.#read(), this.#pauseMs));
    this.#pauseMs = Math.min(2 * this.#pauseMs, maxPauseMs);
  }

  async #read(): Promise<void> {
    if (this.#isReading || !this.#options.hasListener()) return;
    this.#isReading = true;
    const elsewhere = await this.#countElsewhere();
    this.#isReading = false;
    if (this.#load === undefined || !this.#hasSlotList) return;
    const isLong = this.#options.world.monotonicMs() - this.#watchedSinceMs > maxWatchMs;
    this.#publish(isLong ? 0 : (elsewhere ?? this.#load.elsewhere));
    // No response: the server is busy or away. The next probe shows which.
    if (!isLong && elsewhere !== 0) this.#schedule();
  }

  async #countElsewhere(): Promise<number | undefined> {
    const { running } = this.#options;
    if (this.#isRouter) {
      const found = await probeModels(this.#options, lookMs);
      if (!this.#isLoaded(found)) return 0;
    }
    const props = await this.#readProps();
    if (props === undefined) return undefined;
    if (props.isAsleep) return 0;
    const busy = await this.#countBusySlots();
    return busy === undefined ? undefined : Math.max(0, busy - running());
  }

  /** A server of one model has it loaded when it lists it. */
  #isLoaded({ loaded }: Pick<ProbeResult, "loaded">): boolean {
    if (!this.#isRouter) return true;
    const model = this.#options.model();
    return model !== undefined && loaded?.includes(model) === true;
  }

  /** Loads nothing and wakes nothing. @returns undefined when there was no such response. Never throws */
  async #readProps(): Promise<ServerProps | undefined> {
    const properties = objectIn((await this.#lookBelowRoot("/props")).body);
    if (properties === undefined) return undefined;
    this.#options.onRead(properties);
    return propsIn(properties);
  }

  /**
   * How many slots are busy now. Wakes a server that sleeps, and keeps one awake that would: never to be done regularly.
   *
   * @returns undefined when there was no such response. Never throws
   */
  async #countBusySlots(): Promise<number | undefined> {
    const { head, body, problem } = await this.#lookBelowRoot("/slots");
    if (problem !== undefined || head?.status !== 200) return undefined;
    const slots = parseJson(body.toString("utf8"));
    if (!Array.isArray(slots)) return undefined;
    const entries = slots as ({ is_processing?: unknown } | null)[];
    return entries.filter((slot) => slot?.is_processing === true).length;
  }

  /** A router has a server for each model, and must not load the participant's for a look. */
  #lookBelowRoot(path: string): Promise<QueryResult> {
    const { baseUrl, model } = this.#options;
    const routed = this.#isRouter ? model() : undefined;
    const search =
      routed === undefined ? "" : `?model=${encodeURIComponent(routed)}&autoload=false`;
    return query(this.#options, { baseUrl: serverRoot(baseUrl), path: path + search }, lookMs);
  }

  #note({ slots, hasSlotList }: ServerProps, elsewhere: number): void {
    this.#hasSlotList = hasSlotList;
    this.#change({ slots, elsewhere: Math.min(elsewhere, slots) });
  }

  #publish(elsewhere: number): void {
    if (this.#load === undefined) return;
    const { slots } = this.#load;
    this.#change({ slots, elsewhere: Math.min(elsewhere, slots) });
  }

  #forget(): void {
    this.close();
    if (this.#load !== undefined) this.#change(undefined);
  }

  #change(load: EngineLoad | undefined): void {
    const isSame = load?.slots === this.#load?.slots && load?.elsewhere === this.#load?.elsewhere;
    this.#load = load;
    if (!isSame) this.#options.onChange(load);
  }
}

/** What `GET /props` reports of one server. */
export interface ServerProps {
  /** requests at once */
  slots: number;
  /** It has `GET /slots`. */
  hasSlotList: boolean;
  /** Its model is unloaded until the next request, and `GET /slots` counts as one. */
  isAsleep: boolean;
}

const maxSlots = 65_536;

/** @param properties - of `GET /props` */
function propsIn(properties: JsonObject): ServerProps | undefined {
  const slots = properties["total_slots"];
  if (!Number.isInteger(slots) || !((slots as number) > 0)) return undefined;
  return {
    slots: Math.min(slots as number, maxSlots),
    hasSlotList: properties["endpoint_slots"] === true,
    isAsleep: properties["is_sleeping"] === true,
  };
}

/** As many as a hub sends to one participant by default, and as vLLM's own `max_num_seqs`. */
const many = 256;

/** mlx-lm's default of `--decode-concurrency`. */
const mlxBatch = 32;

/** For programs that report no number. Ollama does not report `OLLAMA_NUM_PARALLEL`, whose default is 1. */
const byProgram: Readonly<Partial<Record<ServerProgram, number>>> = {
  Ollama: 1,
  vLLM: many,
  SGLang: many,
  TGI: many,
  "TensorRT-LLM": many,
  LMDeploy: many,
  "whisper.cpp": 1,
  OpenAI: many,
  cloud: many,
  gateway: many,
};

/** LM Studio's default of Max Concurrent Predictions. */
const lmStudioDefault = 4;

/**
 * How many requests a recognised program runs at once, without reading its slots.
 *
 * @param description - what the program says of itself, see `Recognised`
 * @param model - the participant's
 * @returns undefined for a program that is not recognised, and for llama.cpp, whose slots are read
 */
export function usualSlots(
  program: ServerProgram | undefined,
  description: JsonObject | undefined,
  model: string | undefined,
): number | undefined {
  if (program === undefined) return undefined;
  if (program === "mlx-lm") return batchesIn(description) ? mlxBatch : 1;
  return program === "LM Studio" ? lmStudioSlots(description, model) : byProgram[program];
}

/**
 * mlx-lm batches from version 0.30 for certain (ml-explore/mlx-lm#626), and its version is only in what it generates:
 * `get_system_fingerprint` in mlx_lm/server.py begins with it.
 */
function batchesIn(description: JsonObject | undefined): boolean {
  const fingerprint = description?.["system_fingerprint"];
  if (typeof fingerprint !== "string") return false;
  const [, major = "0", minor = "0"] = /^(\d+)\.(\d+)\./.exec(fingerprint) ?? [];
  return Number(major) > 0 || Number(minor) >= 30;
}

/** `parallel` of the loaded instance. Before version 0.4, which has no such list, requests run one after the other. */
function lmStudioSlots(description: JsonObject | undefined, model: string | undefined): number {
  if (description === undefined) return lmStudioDefault;
  const models = lmStudioModels(description);
  if (models === undefined) return 1;
  const instance =
    models.flatMap(({ instances }) => instances).find(({ id }) => id === model) ??
    models.find(({ key }) => key === model)?.instances[0];
  return instance?.parallel ?? lmStudioDefault;
}
