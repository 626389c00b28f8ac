import { serverRoot, TOKEN_COUNT_HEADER } from "@roomhub/protocol";
import type { ProviderFailure } from "../../call/failure.ts";
import { HeldResponse, isSuccess } from "../../call/held-response.ts";
import { PacedSink } from "../../call/paced-sink.ts";
import type {
  ProviderCall,
  ProviderRequest,
  ProviderSink,
  ResponseHead,
} from "../../call/provider-call.ts";
import type { CallProvider } from "../../learn/query.ts";
import type { ServerKnowledge } from "../../learn/server-knowledge.ts";
import { judgeResponse } from "../../learn/surface-verdict.ts";
import { RequestBody, tooLong } from "../../translation/request-body.ts";
import type { RequestRefusal, ServableRequest } from "../../translation/surface-translation.ts";
import { messagesTranslation } from "../messages-translation.ts";
import { type CountingStep, countingStep, estimateTokens, imageTokens } from "./server-count.ts";
import { UntranslatableError } from "../../translation/read-field.ts";

export interface CountTokensDeps {
  /** of clients' requests */
  send: CallProvider;
  /** of requests that say nothing of whether the server can take a client's */
  ask: CallProvider;
  knowledge: ServerKnowledge;
  maxBodyBytes: number;
}

/** Longer than the tokens of any prompt, as JSON. */
const maxCountBytes = 32 * 1024 * 1024;

type Phase =
  | { kind: "collecting" }
  /** The server's own response, kept back while it may still say that there is no such path. */
  | { kind: "native"; held: HeldResponse | undefined; isMissing: boolean }
  | { kind: "counting"; step: CountingStep; status: number; parts: Buffer[]; bytes: number }
  | { kind: "over" };

/**
 * One `POST /messages/count_tokens`. Sent as it is to a server with messages of its own; where it has no such path, the
 * server's tokenizer counts what the request would be as chat, and where there is none of that, the tokens are estimated.
 * Nothing is ever generated.
 */
export class CountTokensCall implements ProviderCall, ProviderSink {
  readonly #request: ProviderRequest;
  readonly #deps: CountTokensDeps;
  readonly #clientResponse: PacedSink;
  readonly #body: RequestBody;
  #phase: Phase = { kind: "collecting" };
  #translated: ServableRequest | undefined;
  #call: ProviderCall | undefined;

  constructor(request: ProviderRequest, sink: ProviderSink, deps: CountTokensDeps) {
    this.#request = request;
    this.#deps = deps;
    this.#clientResponse = new PacedSink(sink);
    this.#body = new RequestBody(deps.maxBodyBytes);
    if (request.body === "streamed") return;
    for (const chunk of request.body ?? []) this.#body.add(chunk);
    this.#begin();
  }

  writeBody(chunk: Buffer): boolean {
    if (this.#phase.kind !== "collecting") return true;
    this.#body.add(Buffer.from(chunk));
    if (this.#body.isTooLong) this.#refuse(tooLong(this.#deps.maxBodyBytes));
    return true;
  }

  endBody(): void {
    if (this.#phase.kind === "collecting") this.#begin();
  }

  resume(): void {
    if (this.#clientResponse.resume()) this.#call?.resume();
  }

  cancel(): void {
    if (this.#clientResponse.isOver) return;
    this.#clientResponse.discard();
    this.#phase = { kind: "over" };
    this.#body.clear();
    if (this.#call === undefined) process.nextTick(() => this.#clientResponse.release());
    else this.#call.cancel();
  }

  onHead(head: ResponseHead): void {
    const phase = this.#phase;
    if (phase.kind === "counting") phase.status = head.status;
    if (phase.kind !== "native") return;
    if (mayBeMissing(head.status)) phase.held = new HeldResponse(head);
    else this.#clientResponse.head(head);
  }

  onData(chunk: Buffer): boolean {
    const phase = this.#phase;
    switch (phase.kind) {
      case "native":
        if (phase.held === undefined) return this.#clientResponse.data(chunk);
        if (phase.held.push(chunk)) return true;
        return this.#release(phase);
      case "counting":
        phase.bytes += chunk.length;
        if (phase.bytes <= maxCountBytes) phase.parts.push(Buffer.from(chunk));
        else this.#call?.cancel();
        return true;
      case "collecting":
      case "over":
        return true;
    }
  }

  onEnd(): void {
    const phase = this.#phase;
    if (phase.kind !== "native") return;
    if (phase.held !== undefined) {
      const { status } = phase.held.head;
      phase.isMissing = judgeResponse(status, phase.held.text()) === "unsupported";
      if (phase.isMissing) return;
      this.#release(phase);
    }
    this.#clientResponse.end();
  }

  onFailure(failure: ProviderFailure): void {
    if (this.#phase.kind === "native") this.#clientResponse.fail(failure);
  }

  onClosed(): void {
    this.#call = undefined;
    if (!this.#clientResponse.isOver) {
      if (this.#phase.kind === "native" && this.#phase.isMissing) return this.#count();
      if (this.#phase.kind === "counting") return this.#conclude(this.#phase);
    }
    this.#body.clear();
    this.#clientResponse.release();
  }

  #begin(): void {
    if (this.#deps.knowledge.way("messages") === "translated") return this.#count();
    this.#phase = { kind: "native", held: undefined, isMissing: false };
    this.#call = this.#deps.send({ ...this.#request, body: this.#body.chunks }, this);
  }

  #release(phase: Extract<Phase, { kind: "native" }>): boolean {
    const { held } = phase;
    phase.held = undefined;
    return held?.release(this.#clientResponse) ?? true;
  }

  #count(): void {
    if (this.#body.isTooLong) return this.#refuse(tooLong(this.#deps.maxBodyBytes));
    const { knowledge } = this.#deps;
    try {
      this.#translated = messagesTranslation.translate(Buffer.concat(this.#body.chunks), knowledge);
    } catch (error) {
      if (!(error instanceof UntranslatableError)) throw error;
      const { message, param, code } = error;
      return this.#refuse({ status: 400, message, param, code });
    }
    this.#body.clear();
    const step = countingStep(knowledge.program, this.#translated.chat);
    if (step === undefined) this.#estimate(this.#translated);
    else this.#take(step);
  }

  #take(step: CountingStep): void {
    this.#phase = { kind: "counting", step, status: 0, parts: [], bytes: 0 };
    const { baseUrl, headers } = this.#request;
    this.#call = this.#deps.ask(
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
    this.#sendHere(200, { input_tokens: inputTokens }, isEstimate);
  }

  #refuse(refusal: RequestRefusal): void {
    this.#sendHere(refusal.status, messagesTranslation.refusal(refusal), false);
  }

  /** In a later turn, as every response is. */
  #sendHere(status: number, body: object, isEstimate: boolean): void {
    this.#phase = { kind: "over" };
    this.#body.clear();
    const headers = {
      "content-type": "application/json",
      ...(isEstimate ? { [TOKEN_COUNT_HEADER]: "estimate" } : {}),
    };
    process.nextTick(() => {
      this.#clientResponse.head({ status, headers });
      this.#clientResponse.data(Buffer.from(JSON.stringify(body)));
      this.#clientResponse.end();
      this.#clientResponse.release();
    });
  }
}

/** A 200 may be LM Studio's way to say it. */
function mayBeMissing(status: number): boolean {
  return isSuccess(status) || status === 501 || (status >= 400 && status < 500);
}
