import type { ResponseHead } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import { HeldAnswer, isEventStream, isSuccess } from "../call/held-answer.ts";
import type { PacedSink } from "../call/paced-sink.ts";
import type { Answer } from "./answer.ts";
import type { ServerKnowledge } from "../learn/server-knowledge.ts";
import { judgeAnswer } from "../learn/surface-verdict.ts";

/**
 * The answer of a server that may or may not have `/responses`. Kept back while it could still turn out to say that it
 * has not: then nothing was generated, and the same request goes out as chat.
 */
export class NativeAnswer implements Answer {
  readonly #outlet: PacedSink;
  readonly #knowledge: ServerKnowledge;
  #held: HeldAnswer | undefined;
  #isChatNext = false;

  constructor(outlet: PacedSink, knowledge: ServerKnowledge) {
    this.#outlet = outlet;
    this.#knowledge = knowledge;
  }

  get isChatNext(): boolean {
    return this.#isChatNext;
  }

  onHead(head: ResponseHead): void {
    if (mayDenyThePath(head)) {
      this.#held = new HeldAnswer(head);
      return;
    }
    if (isSuccess(head.status)) this.#knowledge.note("openResponses", "supported");
    this.#outlet.head(head);
  }

  onData(chunk: Buffer): boolean {
    if (this.#held === undefined) return this.#outlet.data(chunk);
    return this.#held.push(chunk) || this.#release(this.#held, "");
  }

  onEnd(): void {
    if (this.#held !== undefined) {
      const text = this.#held.text();
      const { status } = this.#held.head;
      if (judgeAnswer(status, text) === "unsupported") {
        this.#knowledge.noteAnswer("openResponses", status, text);
        this.#isChatNext = this.#knowledge.responsesWay !== "native";
        if (this.#isChatNext) return;
      }
      this.#release(this.#held, text);
    }
    this.#outlet.end();
  }

  onFailure(failure: ProviderFailure): void {
    this.#outlet.fail(failure);
  }

  #release(held: HeldAnswer, text: string): boolean {
    this.#held = undefined;
    this.#knowledge.noteAnswer("openResponses", held.head.status, text);
    return held.release(this.#outlet);
  }
}

/** A 200 in JSON may be LM Studio's way to say it. */
function mayDenyThePath(head: ResponseHead): boolean {
  const { status } = head;
  if (isSuccess(status)) return !isEventStream(head);
  return status === 501 || (status >= 400 && status < 500);
}
