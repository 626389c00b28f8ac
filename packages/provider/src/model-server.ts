import {
  type JsonObject,
  LIMITS,
  serverRoot,
  SURFACES,
  systemWorld,
  type World,
} from "@roomhub/protocol";
import { discoverCapabilities } from "./learn/capabilities.ts";
import { FieldSink } from "./learn/field-sink.ts";
import { FactsWatch, type KnownFacts } from "./learn/facts-watch.ts";
import type { ProviderCall, ProviderRequest, ProviderSink } from "./call/provider-call.ts";
import type { CapabilityName } from "./learn/known-capabilities.ts";
import { LearningSink } from "./learn/learning-sink.ts";
import type { CallProvider, QueriedServer } from "./learn/query.ts";
import { probeModels, type ProbeResult } from "./learn/probe.ts";
import { ReadinessSink } from "./readiness/readiness-sink.ts";
import { type ReadinessVerdict, ServerReadiness, findingOf } from "./readiness/server-readiness.ts";
import { LoadedWatch } from "./slots/loaded-watch.ts";
import { type EngineLoad, SlotWatch } from "./slots/slot-watch.ts";
import { CountTokensCall } from "./messages/counting/count-tokens-call.ts";
import { messagesTranslation } from "./messages/messages-translation.ts";
import { responsesTranslation } from "./responses/responses-translation.ts";
import { TranslatedCall } from "./translation/translated-call.ts";
import { callWhisper, isWhisperPath } from "./translation/whisper-request.ts";
import {
  type ReportedCapabilities,
  ServerKnowledge,
  type SurfaceModes,
} from "./learn/server-knowledge.ts";
import type { SurfaceTranslation, TranslationSource } from "./translation/surface-translation.ts";

/** A request to a model server, with a path below its base URL. */
export type ModelServerRequest = Omit<ProviderRequest, "baseUrl">;

export interface ModelServerOptions {
  call: CallProvider;
  /** from `checkEndpoint()` */
  baseUrl: string;
  /** auth headers for looking at the server; requests bring their own */
  headers: () => Record<string, string>;
  /** What the user declared at join, which is reported unchanged. */
  declared: () => Readonly<Record<string, unknown>>;
  /** What the user chose at join for `/responses` and `/messages`; default: by what is known of the server. */
  modes?: (() => SurfaceModes) | undefined;
  /** The reported capabilities have changed. Never called from within the constructor or `call()`. */
  onCapabilities: (capabilities: Readonly<ReportedCapabilities>) => void;
  /** The verdict has changed. Called before the response that changed it is passed on, and never from within the above. */
  onReadiness?: ((verdict: ReadinessVerdict) => void) | undefined;
  /** `lookInMs` has become shorter between two probes. */
  onLookMoved?: (() => void) | undefined;
  /** The participant's model, which the server's list is compared with; default: no comparison. */
  model?: (() => string) | undefined;
  /** The server's list had `model` before this was created; default false. */
  isModelListed?: boolean | undefined;
  /** The number of requests that it runs at once has changed; undefined when that is not known. */
  onEngine?: ((load: EngineLoad | undefined) => void) | undefined;
  /** Its loaded models have changed; at most 64, undefined when it does not report them. */
  onLoaded?: ((models: readonly string[] | undefined) => void) | undefined;
  /** What is known of its model has changed. */
  onFacts?: ((facts: KnownFacts) => void) | undefined;
  /** Whether `onEngine` and `onLoaded` are still needed; default true. */
  hasListener?: (() => boolean) | undefined;
  /** It is a function of this program: always ready, never probed. */
  isFunction?: boolean | undefined;
  /** Time, timers and random ids; default: the system's. */
  world?: World | undefined;
  /** loading for longer than this is `down`; default 15 min */
  loadingMs?: number | undefined;
  /** how often a probe is due while the server is ready, default 30 s, and while it is down, default 5 s */
  looks?: { readyMs: number; downMs: number } | undefined;
  /**
   * The longest request that is translated, default 64 MiB: it is parsed in one go, which blocks the thread.
   */
  maxTranslatedBytes?: number | undefined;
  /** default: ids and seconds of the world */
  source?: TranslationSource | undefined;
}

const fingerprintField = /"system_fingerprint": ?"([^"]{1,256})"/;
const modelField = /"model": ?"([^"\\]{1,256})"/;

/** The operations whose responses show what the server has. */
const surfaces = new Map<string, CapabilityName>(
  SURFACES.map(({ path, capability }) => [`/${path}`, capability]),
);

/** Surfaces that a server's chat can serve. */
const translations: Partial<Record<CapabilityName, SurfaceTranslation>> = {
  openResponses: responsesTranslation,
  messages: messagesTranslation,
};

/**
 * One model server, and what is known of it. A server that has only chat also gets requests for responses and messages,
 * translated both ways.
 *
 * Its capabilities are looked up after the first probe that it responds to, and again after it was away; everything else is
 * learned from its responses. Opens no sockets: its creator owns the client behind `call`.
 */
export class ModelServer {
  readonly #options: ModelServerOptions;
  readonly #knowledge: ServerKnowledge;
  readonly #readiness: ServerReadiness;
  readonly #queried: QueriedServer;
  readonly #source: TranslationSource;
  readonly #slots: SlotWatch;
  readonly #loaded: LoadedWatch;
  readonly #facts: FactsWatch;
  #isLooking = false;
  /** The next response shows the name of the model: once after each look. */
  #isNameDue = false;

  constructor(options: ModelServerOptions) {
    this.#options = options;
    const { call, baseUrl, headers, world = systemWorld } = options;
    this.#queried = { call, baseUrl, headers, world };
    this.#source = options.source ?? sourceFrom(world);
    this.#knowledge = new ServerKnowledge(
      options.declared,
      () => options.modes?.() ?? {},
      () => options.onCapabilities(this.#knowledge.reported),
    );
    this.#readiness = new ServerReadiness({
      nowMs: world.monotonicMs(),
      model: () => options.model?.(),
      isModelListed: options.isModelListed ?? false,
      loadingMs: options.loadingMs ?? LIMITS.loadingMs.default,
      readyLookMs: options.looks?.readyMs ?? 30_000,
      downLookMs: options.looks?.downMs ?? 5_000,
      onVerdict: (verdict) => options.onReadiness?.(verdict),
      onLookMoved: () => options.onLookMoved?.(),
    });
    const watched = {
      ...this.#queried,
      model: () => options.model?.(),
      hasListener: () => options.hasListener?.() ?? true,
    };
    this.#slots = new SlotWatch({
      ...watched,
      running: () => this.#readiness.running,
      onChange: (load) => options.onEngine?.(load),
      onRead: this.#describe,
    });
    this.#loaded = new LoadedWatch({
      ...watched,
      onChange: (models) => options.onLoaded?.(models),
      onRead: (description) => {
        this.#slots.describe(description);
        this.#describe(description);
      },
    });
    this.#facts = new FactsWatch({ ...watched, onChange: (facts) => options.onFacts?.(facts) });
  }

  /** How many requests it runs at once; undefined when that is not known. */
  get engine(): EngineLoad | undefined {
    return this.#slots.load;
  }

  /** The models that it has loaded, at most 64; undefined when it does not say. */
  get loadedModels(): readonly string[] | undefined {
    return this.#loaded.models;
  }

  readonly #describe = (response: JsonObject): void =>
    this.#facts.describe(this.#knowledge.program, response);

  /** What is known of its model: context, features, and the name in its responses. */
  get facts(): KnownFacts {
    return this.#facts.known;
  }

  /** Stops the timers between probes. */
  close(): void {
    this.#slots.close();
    this.#loaded.close();
  }

  /** Whether it can take a request now, by its model list and its responses to calls. */
  get readiness(): ReadinessVerdict {
    return this.#readiness.verdict;
  }

  /** When the next probe is due, from 0. Reading it sets no timer. */
  lookInMs(): number {
    return this.#readiness.lookInMs(this.#queried.world.monotonicMs());
  }

  /** Whether to probe now. Bytes of a running response are as good as a probe: then the next one is due later. */
  startLook(): boolean {
    return this.#readiness.startLook(this.#queried.world.monotonicMs());
  }

  /** `headers` returns other credentials from now on, and requests carry others. */
  credentialsChanged(): void {
    this.#readiness.credentialsChanged(this.#queried.world.monotonicMs());
  }

  /** `model` returns another name from now on: the server may be another too. */
  modelChanged(): void {
    this.#knowledge.doubt();
    this.#facts.forget();
    this.#readiness.modelChanged(this.#queried.world.monotonicMs());
  }

  /** `declared` or `modes` returns other values from now on. */
  settingsChanged(): void {
    this.#knowledge.reconsider();
  }

  /** What it can do for a client. A surface served by translation is `supported`. */
  get capabilities(): Readonly<ReportedCapabilities> {
    return this.#knowledge.reported;
  }

  /** Starts a request. `sink` gets one response, as from `ProviderClient.call`, however many requests that takes. */
  call(request: ModelServerRequest, sink: ProviderSink): ProviderCall {
    const toServer = { ...request, ...this.#placeOf(request.path) };
    if (request.method === "POST" && request.path === "/messages/count_tokens") {
      return new CountTokensCall(toServer, sink, {
        send: this.#send,
        ask: this.#options.call,
        knowledge: this.#knowledge,
        maxBodyBytes: this.#maxTranslatedBytes,
      });
    }
    const surface = request.method === "POST" ? surfaces.get(request.path) : undefined;
    if (surface === undefined) return this.#send(toServer, sink);
    const knowledge = this.#knowledge;
    if (knowledge.program === "whisper.cpp" && isWhisperPath(request.path)) {
      const learning = new LearningSink(sink, surface, knowledge);
      return callWhisper(toServer, (form) => this.#send(form, learning));
    }
    const translation = translations[surface];
    if (translation !== undefined && this.#mayGoToChat(translation)) {
      return new TranslatedCall(toServer, sink, {
        send: this.#send,
        translation,
        knowledge,
        source: this.#source,
        maxBodyBytes: this.#maxTranslatedBytes,
      });
    }
    return this.#send(toServer, new LearningSink(sink, surface, knowledge));
  }

  /**
   * Where a path is at the server. Its version 2 of reranking is beside version 1, which serves the same where there is none.
   */
  #placeOf(path: string): { baseUrl: string; path: string } {
    const { baseUrl } = this.#options;
    if (!path.startsWith("/v2/")) return { baseUrl, path };
    return this.#knowledge.native("rerankV2") === "supported"
      ? { baseUrl: serverRoot(baseUrl), path }
      : { baseUrl, path: path.slice("/v2".length) };
  }

  #mayGoToChat(translation: SurfaceTranslation): boolean {
    const knowledge = this.#knowledge;
    if (knowledge.way(translation.surface) !== "native") return true;
    const mayTranslate = knowledge.mayTranslate(translation.surface);
    return mayTranslate && translation.prefersChat?.(knowledge, undefined) === true;
  }

  get #maxTranslatedBytes(): number {
    return this.#options.maxTranslatedBytes ?? LIMITS.inferenceBodyBytes.default;
  }

  readonly #send: CallProvider = (request, sink) =>
    this.#options.call(
      request,
      new ReadinessSink(
        this.#described(sink),
        this.#readiness,
        this.#queried.world,
        request.client ?? "",
        this.#onCallOver,
      ),
    );

  #described(sink: ProviderSink): ProviderSink {
    const seen = this.#isNameDue ? new FieldSink(sink, modelField, this.#onName) : sink;
    // mlx-lm shows its version, and with it whether it batches, in what it generates and nowhere else.
    if (this.#knowledge.program !== "mlx-lm" || this.engine?.slots !== 1) return seen;
    return new FieldSink(seen, fingerprintField, (text) =>
      this.#slots.describe({ system_fingerprint: text }),
    );
  }

  readonly #onName = (name: string): void => {
    this.#isNameDue = false;
    this.#facts.answered(name);
  };

  readonly #onCallOver = (isCancelled: boolean): void => {
    if (isCancelled) this.#slots.requestCancelled();
    this.#loaded.requestEnded();
  };

  /** Requests the model list. Looking up capabilities, when due, follows in the background. Never rejects. */
  async probe(timeoutMs: number): Promise<ProbeResult> {
    if (this.#options.isFunction === true) return this.#conclude({ answered: true });
    return this.probed(await probeModels(this.#queried, timeoutMs));
  }

  /** Takes the result of a probe of the same server with the same credentials, made for another participant. */
  probed(looked: ProbeResult): ProbeResult {
    const found = this.#conclude(looked);
    const isReady =
      found.answered && ((found.status ?? 0) < 400 || found.program === "whisper.cpp");
    // A server that is only busy is still the same. A gateway that responds in place of a server lists no models.
    if (!isReady && found.isTimeout !== true) this.#knowledge.doubt();
    if (isReady && !this.#isLooking) void this.#look(found);
    return found;
  }

  #conclude(found: ProbeResult): ProbeResult {
    this.#readiness.probed(findingOf(found), this.#queried.world.monotonicMs());
    return found;
  }

  async #look(found: ProbeResult): Promise<void> {
    this.#isLooking = true;
    const description = this.#knowledge.isLookDue ? await this.#discover(found) : undefined;
    const { program } = this.#knowledge;
    await this.#slots.look(program, found, description);
    await this.#loaded.look(program, found, description);
    await this.#facts.look(program, found, description);
    this.#isNameDue = true;
    this.#isLooking = false;
  }

  /** @returns what the server says of itself */
  async #discover(found: ProbeResult): Promise<JsonObject | undefined> {
    this.#knowledge.beginLook(found.program);
    this.#facts.forget();
    const { capabilities, program, description } = await discoverCapabilities({
      server: this.#queried,
      found,
      declared: this.#options.declared(),
    });
    this.#knowledge.find(capabilities, program);
    return description;
  }
}

function sourceFrom(world: World): TranslationSource {
  return {
    newId: (prefix) => `${prefix}_${Buffer.from(world.randomBytes(24)).toString("hex")}`,
    nowSeconds: () => Math.floor(world.wallMs() / 1_000),
  };
}
