import { serverRoot, TOKEN_COUNT_HEADER } from "@roomhub/protocol";
import type { ProviderFailure } from "../../call/failure.ts";
import { isSuccess } from "../../call/held-response.ts";
import type { ProviderRequest, ProviderSink, ResponseHead } from "../../call/provider-call.ts";
import type { CallProvider } from "../../learn/query.ts";
import { CollectedCall } from "../../translation/collected-call.ts";
import type { TranslatedCallDeps } from "../../translation/translated-call.ts";
import { NativeResponse, type SurfaceKnowledge } from "../../translation/native-response.ts";
import type { RequestRefusal, ServableRequest } from "../../translation/surface-translation.ts";
import { messagesTranslation } from "../messages-translation.ts";
import { type CountingStep, countingStep, estimateTokens, imageTokens } from "./server-count.ts";

export interface CountTokensDeps extends Pick<
  TranslatedCallDeps,
  "send" | "knowledge" | "maxBodyBytes"
> {
  /** of requests that do not count for the server's readiness */
  ask: CallProvider;
}

/** More than the tokens of any prompt as JSON. */
const maxCountBytes = 32 * 1024 * 1024;

type Phase =
  /** nothing is expected of the provider */
  | { kind: "waiting" }
  | { kind: "native"; response: NativeResponse }
  | { kind: "counting"; step: CountingStep; status: number; parts: Buffer[]; bytes: number };

/** A server may have messages and not this path below them. */
const nothingLearned: SurfaceKnowledge = {
  note() {},
  noteResponse() {},
  way: () => "native-first",
};

/**
 * One `POST /messages/count_tokens`. Sent unchanged to a server that has messages; if it has no such path, its tokenizer
 * counts the request translated to chat, and without a tokenizer the tokens are estimated. Nothing is ever generated.
 */
export class CountTokensCall extends CollectedCall {
  readonly #deps: CountTokensDeps;
  #phase: Phase = { kind: "waiting" };
  #translated: ServableRequest | undefined;

  constructor(request: ProviderRequest, sink: ProviderSink, deps: CountTokensDeps) {
    super(request, sink, deps.maxBodyBytes);
    this.#deps = deps;
    this.start();
  }

  onHead(head: ResponseHead): void {
    if (this.#phase.kind === "counting") this.#phase.status = head.status;
    if (this.#phase.kind === "native") this.#phase.response.onHead(head);
  }

  onData(chunk: Buffer): boolean {
    const phase = this.#phase;
    switch (phase.kind) {
      case "native":
        return phase.response.onData(chunk);
      case "counting":
        phase.bytes += chunk.length;
        if (phase.bytes <= maxCountBytes) phase.parts.push(Buffer.from(chunk));
        else this.current?.cancel();
        return true;
      case "waiting":
        return true;
    }
  }

  onEnd(): void {
    if (this.#phase.kind === "native") this.#phase.response.onEnd();
  }

  onFailure(failure: ProviderFailure): void {
    if (this.#phase.kind === "native") this.#phase.response.onFailure(failure);
  }

  onClosed(): void {
    this.current = undefined;
    if (!this.response.isOver) {
      if (this.#phase.kind === "native" && this.#phase.response.isChatNext) return this.#count();
      if (this.#phase.kind === "counting") return this.#conclude(this.#phase);
    }
    this.clearBody();
    this.response.release();
  }

  protected override refusalBody(refusal: RequestRefusal): object {
    return messagesTranslation.refusal(refusal);
  }

  protected override sendNext(): void {
    if (this.#deps.knowledge.way("messages") === "translated") return this.#count();
    const response = new NativeResponse(this.response, nothingLearned, "messages");
    this.#phase = { kind: "native", response };
    this.current = this.#deps.send({ ...this.request, body: this.body }, this);
  }

  #count(): void {
    this.#phase = { kind: "waiting" };
    const { knowledge } = this.#deps;
    const request = this.translated((body) => messagesTranslation.translate(body, knowledge));
    if (request === undefined) return;
    this.#translated = request;
    const step = countingStep(knowledge.program, request.chat);
    if (step === undefined) this.#estimate(request);
    else this.#take(step);
  }

  #take(step: CountingStep): void {
    this.#phase = { kind: "counting", step, status: 0, parts: [], bytes: 0 };
    const { baseUrl, headers } = this.request;
    this.current = this.#deps.ask(
      {
        baseUrl: serverRoot(baseUrl),
        method: "POST",
        path: step.path,
        headers: { ...headers, "content-type": "application/json" },
        body: [Buffer.from(JSON.stringify(step.body))],
      },
      this,
    );
  }

  #conclude({ step, status, parts, bytes }: Extract<Phase, { kind: "counting" }>): void {
    const request = this.#translated;
    if (request === undefined) return;
    const isWhole = isSuccess(status) && bytes <= maxCountBytes;
    const next = isWhole ? step.read(Buffer.concat(parts)) : undefined;
    if (next === undefined) return this.#estimate(request);
    if (typeof next !== "number") return this.#take(next);
    const images = imageTokens(request.chat.messages);
    this.#respond(next + images, images > 0);
  }

  #estimate(request: ServableRequest): void {
    this.#respond(estimateTokens(request.chat), true);
  }

  #respond(inputTokens: number, isEstimate: boolean): void {
    this.#phase = { kind: "waiting" };
    const headers: Record<string, string> = isEstimate ? { [TOKEN_COUNT_HEADER]: "estimate" } : {};
    this.respond(200, { input_tokens: inputTokens }, headers);
  }
}
