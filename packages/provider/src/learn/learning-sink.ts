import { PassingSink } from "../passing-sink.ts";
import { refusesStreamOptions } from "@roomhub/protocol";
import type { ProviderSink, ResponseHead } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import { isEventStream, isSuccess } from "../call/held-response.ts";
import type { CapabilityName } from "./known-capabilities.ts";
import type { ServerKnowledge } from "./server-knowledge.ts";
import { mayBeErrorInDisguise } from "./surface-verdict.ts";

/** Enough of a response to see what it is about. */
const maxSeenBytes = 8 * 1024;

/** Passes everything on as it comes and notes on the side what the response says about the surface that was requested. */
export class LearningSink extends PassingSink {
  readonly #surface: CapabilityName;
  readonly #knowledge: ServerKnowledge;
  #status = 0;
  /** undefined when the body shows nothing more, or nothing yet */
  #seen: Buffer[] | undefined;
  /** A success of a surface that has responded before: only an error in its place would be news. */
  #isExpected = false;
  #seenBytes = 0;

  constructor(sink: ProviderSink, surface: CapabilityName, knowledge: ServerKnowledge) {
    super(sink);
    this.#surface = surface;
    this.#knowledge = knowledge;
  }

  override onHead(head: ResponseHead): void {
    this.#status = head.status;
    if (isSuccess(head.status) && isEventStream(head)) {
      this.#knowledge.note(this.#surface, "supported");
    } else if (isSuccess(head.status) && this.#knowledge.hasResponded(this.#surface)) {
      this.#isExpected = true;
    } else this.#seen = [];
    this.sink.onHead(head);
  }

  override onData(chunk: Buffer): boolean {
    if (this.#isExpected) {
      this.#isExpected = false;
      // Errors are short: what begins without the word is none.
      if (mayBeErrorInDisguise(chunk)) this.#seen = [];
    }
    if (this.#seen !== undefined && this.#seenBytes < maxSeenBytes) {
      const part = Buffer.from(chunk.subarray(0, maxSeenBytes - this.#seenBytes));
      this.#seen.push(part);
      this.#seenBytes += part.length;
    }
    return this.sink.onData(chunk);
  }

  override onEnd(): void {
    if (this.#seen !== undefined) this.#learnFrom(Buffer.concat(this.#seen).toString("utf8"));
    this.sink.onEnd();
  }

  #learnFrom(text: string): void {
    const isChat = this.#surface === "chatCompletions";
    if (isChat && refusesStreamOptions(this.#status, text)) {
      this.#knowledge.learn("streamUsage", "unsupported");
    }
    this.#knowledge.noteResponse(this.#surface, this.#status, text);
  }

  override onFailure(failure: ProviderFailure): void {
    if (failure.code === "provider_unreachable") this.#knowledge.doubt();
    this.sink.onFailure(failure);
  }
}
