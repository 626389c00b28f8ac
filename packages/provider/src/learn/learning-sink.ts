import { PassingSink } from "../passing-sink.ts";
import { refusesStreamOptions, isEventStream } from "@roomhub/protocol";
import type { ProviderSink, ResponseHead } from "../call/provider-call.ts";
import type { ProviderFailure } from "../call/failure.ts";
import { isSuccess } from "../call/held-response.ts";
import type { CapabilityName } from "./known-capabilities.ts";
import type { ServerKnowledge } from "./server-knowledge.ts";
import { mayBeErrorInDisguise } from "./surface-verdict.ts";

/** Enough of a response to judge it. */
const maxSeenBytes = 8 * 1024;

/** Learns from a response whether the server has the requested surface. */
export class LearningSink extends PassingSink {
  readonly #surface: CapabilityName;
  readonly #knowledge: ServerKnowledge;
  #status = 0;
  /** undefined while nothing of the body is needed */
  #seen: Buffer[] | undefined;
  /** The surface has succeeded before: only an error with status 200 would be new. */
  #isExpected = false;
  #seenBytes = 0;

  constructor(sink: ProviderSink, surface: CapabilityName, knowledge: ServerKnowledge) {
    super(sink);
    this.#surface = surface;
    this.#knowledge = knowledge;
  }

  override onHead(head: ResponseHead): void {
    this.#status = head.status;
    if (isSuccess(head.status) && isEventStream(head.headers)) {
      this.#knowledge.note(this.#surface, "supported");
    } else if (isSuccess(head.status) && this.#knowledge.hasResponded(this.#surface)) {
      this.#isExpected = true;
    } else this.#seen = [];
    this.sink.onHead(head);
  }

  override onData(chunk: Buffer): boolean {
    if (this.#isExpected) {
      this.#isExpected = false;
      // An error has the word in its first chunk.
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
