import { TRANSLATED_HEADER, isEventStream } from "@roomhub/protocol";
import type { ResponseHead } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import type { ChatDialect } from "./chat-dialect.ts";
import { HeldResponse, isJson, isSuccess } from "../call/held-response.ts";
import { objectIn } from "../learn/query.ts";
import type { PacedSink } from "../call/paced-sink.ts";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import type { ChatStream } from "./chat/chat-stream.ts";
import type { ServableRequest, TranslationSource } from "./surface-translation.ts";
import type { ProviderResponse } from "./native-response.ts";
import { NotChatError, parseChatCompletion } from "./chat/chat-choice.ts";

type Mode =
  | { kind: "waiting" }
  /** passed on unchanged */
  | { kind: "passing" }
  | { kind: "refusal"; held: HeldResponse }
  | { kind: "whole"; head: ResponseHead; parts: Buffer[]; bytes: number }
  | { kind: "stream"; stream: ChatStream };

export interface ChatResponseDeps {
  clientResponse: PacedSink;
  knowledge: ServerKnowledge;
  source: TranslationSource;
  maxResponseBytes: number;
  /** Closes the provider's socket. */
  stop: () => void;
}

/** A chat response for a client that requested one of another surface. Refusals pass unchanged: the hub gives them their shape. */
export class ChatResponse implements ProviderResponse {
  readonly #request: ServableRequest;
  readonly #dialect: ChatDialect;
  readonly #deps: ChatResponseDeps;
  #mode: Mode = { kind: "waiting" };
  #isChatNext = false;

  /** @param dialect - in which the request was sent */
  constructor(request: ServableRequest, dialect: ChatDialect, deps: ChatResponseDeps) {
    this.#request = request;
    this.#dialect = dialect;
    this.#deps = deps;
  }

  get isChatNext(): boolean {
    return this.#isChatNext;
  }

  onHead(head: ResponseHead): void {
    this.#mode = this.#modeFor(head);
    const { clientResponse, knowledge } = this.#deps;
    if (this.#mode.kind === "passing") clientResponse.head(head);
    if (this.#mode.kind !== "stream") return;
    knowledge.note("chatCompletions", "supported");
    this.#dialect.confirm(true);
    clientResponse.head(translated(head, eventStream));
    clientResponse.data(Buffer.from(this.#mode.stream.start()));
  }

  onData(chunk: Buffer): boolean {
    const mode = this.#mode;
    switch (mode.kind) {
      case "stream":
        return this.#translateChunk(mode.stream, chunk);
      case "whole":
        mode.parts.push(Buffer.from(chunk));
        mode.bytes += chunk.length;
        if (mode.bytes > this.#deps.maxResponseBytes) this.#refuseLength();
        return true;
      case "refusal":
        if (mode.held.push(chunk)) return true;
        this.#mode = { kind: "passing" };
        return mode.held.release(this.#deps.clientResponse);
      case "waiting":
      case "passing":
        return this.#deps.clientResponse.data(chunk);
    }
  }

  onEnd(): void {
    const mode = this.#mode;
    switch (mode.kind) {
      case "stream":
        return this.#endStream(mode.stream, {
          code: "provider_disconnected",
          message: "The provider ended its stream before it was complete.",
        });
      case "whole":
        return this.#translateWhole(mode.head, Buffer.concat(mode.parts));
      case "refusal":
        return this.#refuse(mode.held);
      case "waiting":
      case "passing":
        return this.#deps.clientResponse.end();
    }
  }

  onFailure(failure: ProviderFailure): void {
    // After a finish reason the response is complete, even if the socket failed.
    if (this.#mode.kind === "stream") this.#endStream(this.#mode.stream, failure);
    else this.#deps.clientResponse.fail(failure);
  }

  #modeFor(head: ResponseHead): Mode {
    const { status } = head;
    if (status >= 400) return { kind: "refusal", held: new HeldResponse(head) };
    if (!isSuccess(status)) return { kind: "passing" };
    const isUntyped = head.headers["content-type"] === undefined;
    if (this.#request.isStream && (isEventStream(head.headers) || isUntyped)) {
      return { kind: "stream", stream: this.#request.stream(this.#deps.source) };
    }
    if (isJson(head) || isUntyped) return { kind: "whole", head, parts: [], bytes: 0 };
    return { kind: "passing" };
  }

  #translateChunk(stream: ChatStream, chunk: Buffer): boolean {
    const text = stream.push(chunk);
    const { reasoningField } = stream;
    if (reasoningField !== undefined) this.#deps.knowledge.seeReasoning(reasoningField);
    if (stream.isBroken) {
      this.#fail("provider_invalid_response", "The provider's stream is not a chat stream.");
      return true;
    }
    return this.#deps.clientResponse.data(Buffer.from(text));
  }

  #endStream(stream: ChatStream, failure: ProviderFailure): void {
    const { clientResponse } = this.#deps;
    const { text, isComplete } = stream.end();
    if (!isComplete) return clientResponse.fail(failure);
    clientResponse.data(Buffer.from(text));
    clientResponse.end();
  }

  #translateWhole(head: ResponseHead, body: Buffer): void {
    const { clientResponse, knowledge, source } = this.#deps;
    try {
      const request = this.#request;
      const completion = parseChatCompletion(body);
      const { reasoningField } = completion;
      if (reasoningField !== undefined) knowledge.seeReasoning(reasoningField);
      const events = request.isStream ? request.streamed?.(completion, source) : undefined;
      const response = events ?? request.response(completion, source);
      knowledge.note("chatCompletions", "supported");
      this.#dialect.confirm(false);
      clientResponse.head(
        translated(head, events === undefined ? "application/json" : eventStream),
      );
      clientResponse.data(response);
      clientResponse.end();
    } catch (error) {
      if (!(error instanceof NotChatError)) throw error;
      // An error with status 200 says more than a message from here would.
      if (objectIn(body)?.["error"] === undefined) {
        return clientResponse.fail({ code: "provider_invalid_response", message: error.message });
      }
      knowledge.noteResponse("chatCompletions", head.status, body.toString("utf8"));
      clientResponse.head(head);
      clientResponse.data(body);
      clientResponse.end();
    }
  }

  #refuse(held: HeldResponse): void {
    const { clientResponse, knowledge } = this.#deps;
    const { status } = held.head;
    const text = held.text();
    if (this.#dialect.fallBack(status, text)) {
      this.#isChatNext = true;
      return;
    }
    knowledge.noteResponse("chatCompletions", status, text);
    held.release(clientResponse);
    clientResponse.end();
  }

  #refuseLength(): void {
    const mib = Math.floor(this.#deps.maxResponseBytes / (1024 * 1024));
    this.#fail("response_too_large", `The provider's response is longer than ${mib} MiB.`);
  }

  #fail(code: ProviderFailure["code"], message: string): void {
    this.#mode = { kind: "passing" };
    this.#deps.clientResponse.fail({ code, message });
    this.#deps.stop();
  }
}

const eventStream = "text/event-stream; charset=utf-8";

function translated(head: ResponseHead, contentType: string): ResponseHead {
  const { "content-length": _length, ...headers } = head.headers;
  return {
    status: head.status,
    headers: { ...headers, "content-type": contentType, [TRANSLATED_HEADER]: "chat" },
  };
}
