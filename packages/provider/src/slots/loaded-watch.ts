import { type JsonObject, serverRoot, type Timer } from "@roomhub/protocol";
import type { ServerProgram } from "../learn/fingerprints.ts";
import { probeModels, type ProbeResult } from "../learn/probe.ts";
import { objectIn, type QueriedServer, query } from "../learn/query.ts";
import { type LoadedList, loadedListOf, reportedNames } from "./loaded-models.ts";

export interface LoadedWatchOptions extends QueriedServer {
  /** the participant's */
  model: () => string | undefined;
  /** whether `onChange` still has a listener */
  hasListener: () => boolean;
  /** Other models are loaded. Undefined: the server does not say. */
  onChange: (models: readonly string[] | undefined) => void;
  /** The list that was read, which may say more. */
  onRead: (response: JsonObject) => void;
}

/** Where the list is: in the models list itself with llama.cpp's router. */
type Source = LoadedList | "models list";

const pauseMs = 10_000;
/** Another client may have it loaded in another way: what is known is at most a minute old. */
const staleMs = 25_000;
const listMs = 3_000;

/**
 * Which models a server has loaded, where it says so: Ollama, LM Studio, llama.cpp's router.
 *
 * Read with the first look, then after requests have ended, every 10 s at most. Nothing here loads a model or keeps one
 * loaded.
 */
export class LoadedWatch {
  readonly #options: LoadedWatchOptions;
  #program: ServerProgram | undefined;
  #source: Source | undefined;
  #models: readonly string[] | undefined;
  #timer: Timer | undefined;
  #readMs = -Infinity;
  #isReading = false;

  constructor(options: LoadedWatchOptions) {
    this.#options = options;
  }

  /** at most 64 names, the participant's model first; undefined for a server that does not say */
  get models(): readonly string[] | undefined {
    return this.#models;
  }

  /**
   * The server returned its model list.
   *
   * @param description - what it says of itself, when that was just read
   */
  async look(
    program: ServerProgram | undefined,
    { loaded }: Pick<ProbeResult, "loaded">,
    description: JsonObject | undefined,
  ): Promise<void> {
    const isSame = program === this.#program && description === undefined;
    this.#program = program;
    if (program === "llama.cpp") {
      if (loaded === undefined) return this.#forget();
      this.#source = "models list";
      return this.#publish(loaded);
    }
    if (isSame) return this.#refresh();
    this.#source = loadedListOf(program, description);
    if (this.#source === undefined) return this.#forget();
    await this.#read(description);
  }

  async #refresh(): Promise<void> {
    const agoMs = this.#options.world.monotonicMs() - this.#readMs;
    if (this.#timer === undefined && !this.#isReading && agoMs >= staleMs)
      await this.#read(undefined);
  }

  /** A request has ended, well or not: its model is loaded, and another may have been unloaded for it. */
  requestEnded(): void {
    if (this.#source === undefined || this.#timer !== undefined || this.#isReading) return;
    const inMs = Math.max(0, this.#readMs + pauseMs - this.#options.world.monotonicMs());
    const { world } = this.#options;
    const timer = world.setTimeout(() => {
      this.#timer = undefined;
      void this.#read(undefined);
    }, inMs);
    // A program that has nothing else to do may end.
    this.#timer = world.unref(timer);
  }

  close(): void {
    this.#options.world.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#source = undefined;
  }

  /** @param description - of the server, which may be the list */
  async #read(description: JsonObject | undefined): Promise<void> {
    const source = this.#source;
    if (source === undefined || !this.#options.hasListener()) return;
    this.#readMs = this.#options.world.monotonicMs();
    this.#isReading = true;
    const models =
      source === "models list"
        ? await this.#readModels()
        : await this.#readList(source, description);
    this.#isReading = false;
    // No response: the server is busy or away. Keep what was known.
    if (models !== undefined && this.#source === source) this.#publish(models);
  }

  async #readModels(): Promise<readonly string[] | undefined> {
    return (await probeModels(this.#options, listMs)).loaded;
  }

  async #readList(
    { path, modelsIn }: LoadedList,
    description: JsonObject | undefined,
  ): Promise<readonly string[] | undefined> {
    const inDescription = description && modelsIn(description);
    if (inDescription !== undefined) return inDescription;
    const { baseUrl, onRead } = this.#options;
    const question = { baseUrl: serverRoot(baseUrl), path };
    const { head, body, problem } = await query(this.#options, question, listMs);
    if (problem !== undefined || head?.status !== 200) return undefined;
    const response = objectIn(body);
    const models = response && modelsIn(response);
    if (response !== undefined && models !== undefined) onRead(response);
    return models;
  }

  #publish(names: readonly string[]): void {
    const models = reportedNames(names, this.#options.model());
    if (JSON.stringify(models) === JSON.stringify(this.#models)) return;
    this.#models = models;
    this.#options.onChange(models);
  }

  #forget(): void {
    this.close();
    if (this.#models === undefined) return;
    this.#models = undefined;
    this.#options.onChange(undefined);
  }
}
