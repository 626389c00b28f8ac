import { LIMITS } from "@roomhub/protocol";
import type { ProviderRequest, ProviderSink, ResponseHead } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import type { CallProvider } from "../learn/query.ts";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import { ChatDialect } from "./chat-dialect.ts";
import { ChatResponse } from "./chat-response.ts";
import { CollectedCall } from "./collected-call.ts";
import { NativeResponse, type ProviderResponse } from "./native-response.ts";
import type {
  RequestRefusal,
  ServableRequest,
  SurfaceTranslation,
  TranslationSource,
} from "./surface-translation.ts";

export interface TranslatedCallDeps {
  /** of clients' requests */
  send: CallProvider;
  translation: SurfaceTranslation;
  knowledge: ServerKnowledge;
  source: TranslationSource;
  maxBodyBytes: number;
}

const maxResponseBytes = LIMITS.responseBodyBytes.default;

/**
 * One request of a surface that the server may not have.
 *
 * ```
 * collecting ──body whole──┬─► sent natively ──there is no such path──┐
 *                          │        ▲ no counterpart, chat only preferred
 *                          └─► sent as chat ◄────────────────────────┘
 *                                   └──refused in this dialect──► sent as chat
 * ```
 *
 * The body is kept until a response was passed on, so that it can be sent again.
 */
export class TranslatedCall extends CollectedCall {
  readonly #deps: TranslatedCallDeps;
  #chatRequest: ServableRequest | undefined;
  #dialect: ChatDialect | undefined;
  #provider: ProviderResponse | undefined;

  constructor(request: ProviderRequest, sink: ProviderSink, deps: TranslatedCallDeps) {
    super(request, sink, deps.maxBodyBytes);
    this.#deps = deps;
    this.start();
  }

  onHead(head: ResponseHead): void {
    this.#provider?.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    return this.#provider?.onData(chunk) ?? true;
  }

  onEnd(): void {
    this.#provider?.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    if (failure.code === "provider_unreachable") this.#deps.knowledge.doubt();
    this.#provider?.onFailure(failure);
  }

  onClosed(): void {
    const isChatNext = this.#provider?.isChatNext === true && !this.response.isOver;
    this.current = undefined;
    this.#provider = undefined;
    if (isChatNext) return this.#askChat();
    this.clearBody();
    this.response.release();
  }

  protected override refusalBody(refusal: RequestRefusal): object {
    return this.#deps.translation.refusal(refusal);
  }

  protected override sendNext(): void {
    const { knowledge, translation } = this.#deps;
    const { surface } = translation;
    // Too long to be translated, it may still pass as it is.
    const mustPass = this.isBodyTooLong && knowledge.native(surface) === "supported";
    if (mustPass) return this.#askServer();
    if (knowledge.way(surface) === "translated") return this.#askChat();
    // What has no counterpart in chat may have one on the server's own surface.
    if (this.#isBetterAsChat) return this.#askChat(() => this.#askServer());
    this.#askServer();
  }

  get #isBetterAsChat(): boolean {
    const { knowledge, translation } = this.#deps;
    if (!knowledge.mayTranslate(translation.surface)) return false;
    return translation.prefersChat?.(knowledge, this.body) === true;
  }

  #askServer(): void {
    const { knowledge, translation } = this.#deps;
    const response = new NativeResponse(this.response, knowledge, translation.surface);
    this.#send(this.request.path, this.body, response);
  }

  /** @param refuse - called when the request has no counterpart; default: the client gets the refusal */
  #askChat(refuse?: () => void): void {
    const { knowledge, source, translation } = this.#deps;
    this.#chatRequest ??= this.translated((body) => translation.translate(body, knowledge), refuse);
    const chatRequest = this.#chatRequest;
    if (chatRequest === undefined) return;
    const dialect = (this.#dialect ??= new ChatDialect(chatRequest, knowledge));
    const response = new ChatResponse(chatRequest, dialect, {
      clientResponse: this.response,
      knowledge,
      source,
      maxResponseBytes,
      stop: () => this.current?.cancel(),
    });
    this.#send("/chat/completions", [dialect.body()], response);
  }

  #send(path: string, body: Buffer[], response: ProviderResponse): void {
    this.#provider = response;
    this.current = this.#deps.send({ ...this.request, path, body }, this);
  }
}
