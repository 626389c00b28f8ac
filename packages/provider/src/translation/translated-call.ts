import { LIMITS } from "@roomhub/protocol";
import { ChatResponse } from "./chat-response.ts";
import { ChatDialect } from "./chat-dialect.ts";
import type {
  ProviderCall,
  ProviderRequest,
  ProviderSink,
  ResponseHead,
} from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import type { CallProvider } from "../learn/query.ts";
import { NativeResponse, type ProviderResponse } from "./native-response.ts";
import { PacedSink } from "../call/paced-sink.ts";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import { RequestBody, tooLong } from "./request-body.ts";
import type {
  RequestRefusal,
  ServableRequest,
  SurfaceTranslation,
  TranslationSource,
} from "./surface-translation.ts";
import { UntranslatableError } from "./read-field.ts";

export interface TranslatedCallDeps {
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
 *                          └─► sent as chat ◄────────────────────────┘
 *                                   └──refused in this dialect──► sent as chat
 * ```
 *
 * The body is kept until a response was passed on, so that it can be sent again. The caller sees one response.
 */
export class TranslatedCall implements ProviderCall, ProviderSink {
  readonly #request: ProviderRequest;
  readonly #deps: TranslatedCallDeps;
  readonly #clientResponse: PacedSink;
  readonly #body: RequestBody;
  #isCollecting: boolean;
  #chatRequest: ServableRequest | undefined;
  #dialect: ChatDialect | undefined;
  #response: ProviderResponse | undefined;
  /** what is on its way to the provider now */
  #call: ProviderCall | undefined;

  constructor(request: ProviderRequest, sink: ProviderSink, deps: TranslatedCallDeps) {
    this.#request = request;
    this.#deps = deps;
    this.#clientResponse = new PacedSink(sink);
    this.#body = new RequestBody(deps.maxBodyBytes);
    this.#isCollecting = request.body === "streamed";
    if (request.body === "streamed") return;
    for (const chunk of request.body ?? []) this.#body.add(chunk);
    this.#sendNext();
  }

  /** Copied: the chunk may be a view into something larger. */
  writeBody(chunk: Buffer): boolean {
    if (!this.#isCollecting) return true;
    this.#body.add(Buffer.from(chunk));
    if (!this.#body.isTooLong) return true;
    this.#isCollecting = false;
    this.#refuseHere(tooLong(this.#deps.maxBodyBytes));
    return true;
  }

  endBody(): void {
    if (!this.#isCollecting) return;
    this.#isCollecting = false;
    this.#sendNext();
  }

  resume(): void {
    if (this.#clientResponse.resume()) this.#call?.resume();
  }

  cancel(): void {
    if (this.#clientResponse.isOver) return;
    this.#clientResponse.discard();
    this.#isCollecting = false;
    this.#body.clear();
    if (this.#call === undefined) process.nextTick(() => this.#clientResponse.release());
    else this.#call.cancel();
  }

  onHead(head: ResponseHead): void {
    this.#response?.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    return this.#response?.onData(chunk) ?? true;
  }

  onEnd(): void {
    this.#response?.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    if (failure.code === "provider_unreachable") this.#deps.knowledge.doubt();
    this.#response?.onFailure(failure);
  }

  onClosed(): void {
    const isChatNext = this.#response?.isChatNext === true && !this.#clientResponse.isOver;
    this.#call = undefined;
    this.#response = undefined;
    if (isChatNext) return this.#askChat();
    this.#body.clear();
    this.#clientResponse.release();
  }

  #sendNext(): void {
    const { knowledge, translation } = this.#deps;
    const { surface } = translation;
    const isTranslated = knowledge.way(surface) === "translated" || this.#isBetterAsChat;
    // Too long to be translated, it may still pass as it is.
    const mustPass = this.#body.isTooLong && knowledge.native(surface) === "supported";
    if (isTranslated && !mustPass) return this.#askChat();
    const response = new NativeResponse(this.#clientResponse, knowledge, surface);
    this.#send(this.#request.path, this.#body.chunks, response);
  }

  get #isBetterAsChat(): boolean {
    const { knowledge, translation } = this.#deps;
    if (!knowledge.mayTranslate(translation.surface)) return false;
    return translation.prefersChat?.(knowledge, this.#body.chunks) === true;
  }

  #askChat(): void {
    const chatRequest = this.#translated();
    if (chatRequest === undefined) return;
    const { knowledge, source } = this.#deps;
    const dialect = (this.#dialect ??= new ChatDialect(chatRequest, knowledge));
    const response = new ChatResponse(chatRequest, dialect, {
      clientResponse: this.#clientResponse,
      knowledge,
      source,
      maxResponseBytes,
      stop: () => this.#call?.cancel(),
    });
    this.#send("/chat/completions", [dialect.body()], response);
  }

  /** @returns undefined when the request was refused here: it is too long, or has no counterpart in chat */
  #translated(): ServableRequest | undefined {
    if (this.#chatRequest === undefined && this.#body.isTooLong) {
      this.#refuseHere(tooLong(this.#deps.maxBodyBytes));
      return undefined;
    }
    try {
      this.#chatRequest ??= this.#deps.translation.translate(
        Buffer.concat(this.#body.chunks),
        this.#deps.knowledge,
      );
      this.#body.clear();
      return this.#chatRequest;
    } catch (error) {
      if (!(error instanceof UntranslatableError)) throw error;
      const { message, param, code } = error;
      this.#refuseHere({ status: 400, message, param, code });
      return undefined;
    }
  }

  #send(path: string, body: Buffer[], response: ProviderResponse): void {
    this.#response = response;
    this.#call = this.#deps.send({ ...this.#request, path, body }, this);
  }

  /** The provider gets no request. Sent in a later turn, as every response is. */
  #refuseHere(refusal: RequestRefusal): void {
    const { status } = refusal;
    const body = Buffer.from(JSON.stringify(this.#deps.translation.refusal(refusal)));
    this.#body.clear();
    process.nextTick(() => {
      this.#clientResponse.head({ status, headers: { "content-type": "application/json" } });
      this.#clientResponse.data(body);
      this.#clientResponse.end();
      this.#clientResponse.release();
    });
  }
}
