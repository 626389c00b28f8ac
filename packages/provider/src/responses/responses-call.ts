import { isDeeperThan, LIMITS } from "@roomhub/protocol";
import type { ProviderResponse } from "./provider-response.ts";
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
import { NativeResponse } from "./native-response.ts";
import { PacedSink } from "../call/paced-sink.ts";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import {
  type TranslatedRequest,
  type TranslationSource,
} from "./translation/translated-request.ts";
import { UntranslatableError } from "./translation/untranslatable-error.ts";
import { translateRequest } from "./translation/request/request.ts";

export interface ResponsesCallDeps {
  send: CallProvider;
  knowledge: ServerKnowledge;
  source: TranslationSource;
  maxBodyBytes: number;
}

/** What is translated may stand a little deeper than it stood. */
const maxDepth = 2 * LIMITS.jsonDepth.default;
const maxResponseBytes = LIMITS.responseBodyBytes.default;

/**
 * One `POST /responses` to a server that may not have it.
 *
 * ```
 * collecting ──body whole──┬─► asking natively ──there is no such path──┐
 *                          └─► asking chat ◄────────────────────────────┘
 *                                   └──refused in this dialect──► asking chat
 * ```
 *
 * The body is kept until a response was passed on, so that it can be sent again. The caller sees one response.
 */
export class ResponsesCall implements ProviderCall, ProviderSink {
  readonly #request: ProviderRequest;
  readonly #deps: ResponsesCallDeps;
  readonly #clientResponse: PacedSink;
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #isCollecting: boolean;
  #asked: TranslatedRequest | undefined;
  #dialect: ChatDialect | undefined;
  #answer: ProviderResponse | undefined;
  /** what is on its way to the provider now */
  #call: ProviderCall | undefined;

  constructor(request: ProviderRequest, sink: ProviderSink, deps: ResponsesCallDeps) {
    this.#request = request;
    this.#deps = deps;
    this.#clientResponse = new PacedSink(sink);
    this.#isCollecting = request.body === "streamed";
    if (request.body === "streamed") return;
    for (const chunk of request.body ?? []) this.#keep(chunk);
    this.#ask();
  }

  /** Copied: the chunk may be a view into something larger. */
  writeBody(chunk: Buffer): boolean {
    if (!this.#isCollecting) return true;
    this.#keep(Buffer.from(chunk));
    if (!this.#isTooLong) return true;
    this.#isCollecting = false;
    this.#refuseHere(413, tooLong(this.#deps.maxBodyBytes));
    return true;
  }

  #keep(chunk: Buffer): void {
    this.#body.push(chunk);
    this.#bodyBytes += chunk.length;
  }

  get #isTooLong(): boolean {
    return this.#bodyBytes > this.#deps.maxBodyBytes;
  }

  endBody(): void {
    if (!this.#isCollecting) return;
    this.#isCollecting = false;
    this.#ask();
  }

  resume(): void {
    if (this.#clientResponse.resume()) this.#call?.resume();
  }

  cancel(): void {
    if (this.#clientResponse.isOver) return;
    this.#clientResponse.discard();
    this.#isCollecting = false;
    this.#body = [];
    if (this.#call === undefined) process.nextTick(() => this.#clientResponse.release());
    else this.#call.cancel();
  }

  onHead(head: ResponseHead): void {
    this.#answer?.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    return this.#answer?.onData(chunk) ?? true;
  }

  onEnd(): void {
    this.#answer?.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    if (failure.code === "provider_unreachable") this.#deps.knowledge.doubt();
    this.#answer?.onFailure(failure);
  }

  onClosed(): void {
    const isChatNext = this.#answer?.isChatNext === true && !this.#clientResponse.isOver;
    this.#call = undefined;
    this.#answer = undefined;
    if (isChatNext) return this.#askChat();
    this.#body = [];
    this.#clientResponse.release();
  }

  #ask(): void {
    const { knowledge } = this.#deps;
    const isTranslated = knowledge.responsesWay === "translated";
    // Too long to be translated, it may still pass as it is.
    const mustPass = this.#isTooLong && knowledge.native("openResponses") === "supported";
    if (isTranslated && !mustPass) return this.#askChat();
    this.#send(this.#request.path, this.#body, new NativeResponse(this.#clientResponse, knowledge));
  }

  #askChat(): void {
    const asked = this.#translated();
    if (asked === undefined) return;
    const { knowledge, source } = this.#deps;
    const dialect = (this.#dialect ??= new ChatDialect(asked, knowledge));
    const answer = new ChatResponse(asked, dialect, {
      clientResponse: this.#clientResponse,
      knowledge,
      source,
      maxResponseBytes,
      stop: () => this.#call?.cancel(),
    });
    this.#send("/chat/completions", [dialect.body()], answer);
  }

  /** @returns undefined when the request was answered here: it is too long, or has no counterpart in chat */
  #translated(): TranslatedRequest | undefined {
    if (this.#asked === undefined && this.#isTooLong) {
      this.#refuseHere(413, tooLong(this.#deps.maxBodyBytes));
      return undefined;
    }
    try {
      this.#asked ??= translate(Buffer.concat(this.#body));
      this.#body = [];
      return this.#asked;
    } catch (error) {
      if (!(error instanceof UntranslatableError)) throw error;
      this.#refuseHere(400, refusal(error));
      return undefined;
    }
  }

  #send(path: string, body: Buffer[], answer: ProviderResponse): void {
    this.#answer = answer;
    this.#call = this.#deps.send({ ...this.#request, path, body }, this);
  }

  /** Nothing is asked of the provider. Said in a later turn, as every response is. */
  #refuseHere(status: number, error: object): void {
    this.#body = [];
    process.nextTick(() => {
      this.#clientResponse.head({ status, headers: { "content-type": "application/json" } });
      this.#clientResponse.data(Buffer.from(JSON.stringify({ error })));
      this.#clientResponse.end();
      this.#clientResponse.release();
    });
  }
}

/** A hub refuses deep nesting; an agent cannot rely on its hub, and JSON of any depth cannot be written again. */
function translate(body: Buffer): TranslatedRequest {
  const asked = translateRequest(body);
  if (!isDeeperThan([asked.chat, asked.echo], maxDepth)) return asked;
  throw new UntranslatableError("The request body is nested too deeply.", "", "invalid_type");
}

function refusal({ message, param, code }: UntranslatableError): object {
  return { message, type: "invalid_request_error", param, code };
}

function tooLong(maxBodyBytes: number): object {
  const mib = maxBodyBytes / (1024 * 1024);
  return {
    message: `The request body is larger than ${mib} MiB, the most that can be translated for a provider of chat completions.`,
    type: "invalid_request_error",
    param: "",
    code: "request_too_large",
  };
}
