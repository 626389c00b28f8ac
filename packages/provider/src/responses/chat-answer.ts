import type { ResponseHead } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import type { ChatDialect } from "./chat-dialect.ts";
import { HeldAnswer, isEventStream, isJson, isSuccess } from "../call/held-answer.ts";
import { objectIn } from "../learn/query.ts";
import type { PacedSink } from "../call/paced-sink.ts";
import type { Answer } from "./answer.ts";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import { NotChatError, translateAnswer } from "./translation/output/answer.ts";
import type { AskedResponse, TranslationSource } from "./translation/asked.ts";
import { ResponsesStream } from "./translation/output/stream.ts";

type Mode =
  | { kind: "waiting" }
  /** not for us to change */
  | { kind: "passing" }
  | { kind: "refusal"; held: HeldAnswer }
  | { kind: "whole"; head: ResponseHead; parts: Buffer[]; bytes: number }
  | { kind: "stream"; stream: ResponsesStream };

export interface ChatAnswerDeps {
  outlet: PacedSink;
  knowledge: ServerKnowledge;
  source: TranslationSource;
  maxAnswerBytes: number;
  /** Closes the provider's socket. */
  stop: () => void;
}

/** A chat response on its way to a client that requested a Responses object. Refusals pass as they are: their shape is the same. */
export class ChatAnswer implements Answer {
  readonly #asked: AskedResponse;
  readonly #dialect: ChatDialect;
  readonly #deps: ChatAnswerDeps;
  #mode: Mode = { kind: "waiting" };
  #isChatNext = false;

  /** @param dialect - in which the request was sent */
  constructor(asked: AskedResponse, dialect: ChatDialect, deps: ChatAnswerDeps) {
    this.#asked = asked;
    this.#dialect = dialect;
    this.#deps = deps;
  }

  get isChatNext(): boolean {
    return this.#isChatNext;
  }

  onHead(head: ResponseHead): void {
    this.#mode = this.#modeFor(head);
    const { outlet, knowledge } = this.#deps;
    if (this.#mode.kind === "passing") outlet.head(head);
    if (this.#mode.kind !== "stream") return;
    knowledge.note("chatCompletions", "supported");
    this.#dialect.confirm(true);
    outlet.head(translated(head, "text/event-stream; charset=utf-8"));
    outlet.data(Buffer.from(this.#mode.stream.start()));
  }

  onData(chunk: Buffer): boolean {
    const mode = this.#mode;
    switch (mode.kind) {
      case "stream":
        return this.#retellChunk(mode.stream, chunk);
      case "whole":
        mode.parts.push(Buffer.from(chunk));
        mode.bytes += chunk.length;
        if (mode.bytes > this.#deps.maxAnswerBytes) this.#refuseLength();
        return true;
      case "refusal":
        if (mode.held.push(chunk)) return true;
        this.#mode = { kind: "passing" };
        return mode.held.release(this.#deps.outlet);
      case "waiting":
      case "passing":
        return this.#deps.outlet.data(chunk);
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
        return this.#retellWhole(mode.head, Buffer.concat(mode.parts));
      case "refusal":
        return this.#refuse(mode.held);
      case "waiting":
      case "passing":
        return this.#deps.outlet.end();
    }
  }

  onFailure(failure: ProviderFailure): void {
    // After a finish reason the answer is whole, whatever became of the socket.
    if (this.#mode.kind === "stream") this.#endStream(this.#mode.stream, failure);
    else this.#deps.outlet.fail(failure);
  }

  #modeFor(head: ResponseHead): Mode {
    const { status } = head;
    if (status >= 400) return { kind: "refusal", held: new HeldAnswer(head) };
    if (!isSuccess(status)) return { kind: "passing" };
    const isUntyped = head.headers["content-type"] === undefined;
    if (this.#asked.isStream && (isEventStream(head) || isUntyped)) {
      return { kind: "stream", stream: new ResponsesStream(this.#asked, this.#deps.source) };
    }
    if (isJson(head) || isUntyped) return { kind: "whole", head, parts: [], bytes: 0 };
    return { kind: "passing" };
  }

  #retellChunk(stream: ResponsesStream, chunk: Buffer): boolean {
    const text = stream.push(chunk);
    const { reasoningField } = stream;
    if (reasoningField !== undefined) this.#deps.knowledge.seeReasoning(reasoningField);
    if (stream.isBroken) {
      this.#fail("provider_invalid_response", "The provider's stream is not a chat stream.");
      return true;
    }
    return this.#deps.outlet.data(Buffer.from(text));
  }

  #endStream(stream: ResponsesStream, failure: ProviderFailure): void {
    const { outlet } = this.#deps;
    const { text, isComplete } = stream.end();
    if (!isComplete) return outlet.fail(failure);
    outlet.data(Buffer.from(text));
    outlet.end();
  }

  #retellWhole(head: ResponseHead, body: Buffer): void {
    const { outlet, knowledge, source } = this.#deps;
    try {
      const response = translateAnswer(body, this.#asked, source, (field) =>
        knowledge.seeReasoning(field),
      );
      knowledge.note("chatCompletions", "supported");
      this.#dialect.confirm(false);
      outlet.head(translated(head, "application/json"));
      outlet.data(response);
      outlet.end();
    } catch (error) {
      if (!(error instanceof NotChatError)) throw error;
      // An error that says 200 tells more than we could.
      if (objectIn(body)?.["error"] === undefined) {
        return outlet.fail({ code: "provider_invalid_response", message: error.message });
      }
      knowledge.noteAnswer("chatCompletions", head.status, body.toString("utf8"));
      outlet.head(head);
      outlet.data(body);
      outlet.end();
    }
  }

  #refuse(held: HeldAnswer): void {
    const { outlet, knowledge } = this.#deps;
    const { status } = held.head;
    const text = held.text();
    if (this.#dialect.fallBack(status, text)) {
      this.#isChatNext = true;
      return;
    }
    knowledge.noteAnswer("chatCompletions", status, text);
    held.release(outlet);
    outlet.end();
  }

  #refuseLength(): void {
    const mib = Math.floor(this.#deps.maxAnswerBytes / (1024 * 1024));
    this.#fail("response_too_large", `The provider's response is longer than ${mib} MiB.`);
  }

  #fail(code: ProviderFailure["code"], message: string): void {
    this.#mode = { kind: "passing" };
    this.#deps.outlet.fail({ code, message });
    this.#deps.stop();
  }
}

function translated(head: ResponseHead, contentType: string): ResponseHead {
  const { "content-length": _length, ...headers } = head.headers;
  return { status: head.status, headers: { ...headers, "content-type": contentType } };
}
