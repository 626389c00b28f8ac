import {
  type Features,
  isSameModel,
  type JsonObject,
  type ModelContext,
  serverRoot,
} from "@roomhub/protocol";
import { fieldsOf } from "../translation/chat/provider-field.ts";
import type { ServerProgram } from "./fingerprints.ts";
import {
  contextRules,
  factsIn,
  factsInEntry,
  type ModelFacts,
  programFeatures,
} from "./model-facts.ts";
import type { ProbeResult } from "./probe.ts";
import { objectIn, query, type QueriedServer } from "./query.ts";

/** What is known of the participant's model behind its server. */
export interface KnownFacts {
  context: ModelContext | undefined;
  /** undefined while nothing is known of any */
  features: Features | undefined;
  /** the model that responses name, when that is another one */
  answersAs: string | undefined;
}

export interface FactsWatchOptions extends QueriedServer {
  /** the participant's */
  model: () => string | undefined;
  onChange: (facts: KnownFacts) => void;
}

const unknownFeatures: Features = {
  tools: "unknown",
  vision: "unknown",
  reasoning: "unknown",
  structuredOutput: "unknown",
  logprobs: "unknown",
};

/** A figure of the model at work says more than one of a configuration, and that more than what the model could do. */
const sources = ["loaded", "configured", "trained"] as const;
const showMs = 3_000;
const nothing: KnownFacts = { context: undefined, features: undefined, answersAs: undefined };

/**
 * Context and features of a model, as its server reports them: in the models list, which is read every 30 s, and in what
 * the program says at its own paths. Nothing here generates, or loads a model.
 *
 * What a model was loaded with still counts when it is unloaded: the next request loads it so again.
 */
export class FactsWatch {
  readonly #options: FactsWatchOptions;
  #program: ServerProgram | undefined;
  #contexts: ModelFacts["contexts"] = {};
  #said: Partial<Features> = {};
  #isLooked = false;
  /** names of the model in its server's list */
  #aliases: readonly string[] = [];
  #answersAs: string | undefined;
  #known = nothing;

  constructor(options: FactsWatchOptions) {
    this.#options = options;
  }

  get known(): KnownFacts {
    return this.#known;
  }

  /**
   * The server returned its models list.
   *
   * @param description - what the program says of itself, when that was just read
   */
  async look(
    program: ServerProgram | undefined,
    { entries = [] }: Pick<ProbeResult, "entries">,
    description: JsonObject | undefined,
  ): Promise<void> {
    const model = this.#options.model();
    if (model === undefined) return;
    this.#program = program;
    // A llama-server has one model, whatever requests call it.
    const [sole] = program === "llama.cpp" && entries.length === 1 ? entries : [];
    const entry =
      entries.find((one) => namesOf(one).some((name) => isSameModel(name, model))) ?? sole;
    this.#aliases = entry === undefined ? [] : namesOf(entry);
    if (entry !== undefined) this.#note(factsInEntry(entry));
    if (description !== undefined) this.#take(description);
    if (description !== undefined && program === "Ollama") await this.#show(model);
    this.#isLooked = true;
    this.#publish();
  }

  /** @param response - of the program, at one of its own paths */
  describe(program: ServerProgram | undefined, response: JsonObject): void {
    this.#program = program;
    this.#take(response);
    // While it is looked at, more follows.
    if (this.#isLooked) this.#publish();
  }

  /** A response named its model. */
  answered(name: string): void {
    const model = this.#options.model();
    if (model === undefined) return;
    const isSame = [model, ...this.#aliases].some((one) => plainName(one) === plainName(name));
    this.#answersAs = isSame ? undefined : name;
    if (this.#isLooked) this.#publish();
  }

  /** Another server may be there, or another model: what was known no longer counts once it was looked at. */
  forget(): void {
    this.#contexts = {};
    this.#said = {};
    this.#isLooked = false;
    this.#answersAs = undefined;
  }

  /** The description of a model, which Ollama does not load for it. */
  async #show(model: string): Promise<void> {
    const { baseUrl } = this.#options;
    const question = { method: "POST", baseUrl: serverRoot(baseUrl), path: "/api/show" } as const;
    const json = JSON.stringify({ model });
    const { body, head } = await query(this.#options, { ...question, json }, showMs);
    const shown = head?.status === 200 ? objectIn(body) : undefined;
    if (shown !== undefined && model === this.#options.model()) this.#take(shown);
  }

  #take(response: JsonObject): void {
    const model = this.#options.model();
    const facts = model === undefined ? undefined : factsIn(this.#program, response, model);
    if (facts !== undefined) this.#note(facts);
  }

  #note({ contexts, features }: ModelFacts): void {
    Object.assign(this.#contexts, contexts);
    Object.assign(this.#said, features);
  }

  #compose(): KnownFacts {
    const from = sources.find((source) => this.#contexts[source] !== undefined);
    const tokens = from && this.#contexts[from];
    const rules = this.#program && contextRules[this.#program];
    const said = { ...(this.#program && programFeatures[this.#program]), ...this.#said };
    const isSaid = Object.keys(said).length > 0;
    return {
      context: from && tokens ? { tokens, from, ...rules } : undefined,
      features: isSaid ? { ...unknownFeatures, ...said } : undefined,
      answersAs: this.#answersAs,
    };
  }

  #publish(): void {
    const known = this.#compose();
    if (JSON.stringify(known) === JSON.stringify(this.#known)) return;
    this.#known = known;
    this.#options.onChange(known);
  }
}

/** vLLM and SGLang have `root`: what the model is served from. Another hub has what a participant serves. */
function namesOf({ id, root, aliases, service }: JsonObject): string[] {
  const others: unknown[] = Array.isArray(aliases) ? aliases : [];
  const names = [id, root, fieldsOf(service)["model"], ...others];
  return names.filter((name) => typeof name === "string");
}

/** Without what names of the same model differ in: folders, a file's ending, the tag `latest`, and a date. */
function plainName(name: string): string {
  const file = name.split(/[/\\]/).at(-1) ?? name;
  return file
    .toLowerCase()
    .replace(/\.gguf$/, "")
    .replace(/[:-]latest$/, "")
    .replace(/[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$/, "");
}
