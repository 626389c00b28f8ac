import type { ChatChoice } from "../../translation/chat/chat-choice.ts";
import {
  type ChatEnd,
  ChatStream,
  type ChatWriter,
  type ProviderError,
} from "../../translation/chat/chat-stream.ts";
import type { TranslationSource } from "../../translation/surface-translation.ts";
import { EventWriter } from "./event-writer.ts";
import {
  beginResponse,
  type ResponseOrigin,
  responseObject,
  outcomeOf,
  type ResponseUsage,
  responseUsage,
} from "./response-object.ts";
import { ResponseOutput } from "./response-output.ts";
import type { TranslatedRequest } from "../request/request.ts";

/** Limit of what is kept for the response object, and of an event without its end. */
const defaultMaxHeldCharacters = 64 * 1024 * 1024;

/** A chat stream translated as a Responses stream: `response.created` first, a response object and `[DONE]` at its end. */
export function responsesStream(
  request: TranslatedRequest,
  source: TranslationSource,
  maxHeldCharacters: number = defaultMaxHeldCharacters,
): ChatStream {
  return new ChatStream(new ResponsesWriter(request, source, maxHeldCharacters), maxHeldCharacters);
}

class ResponsesWriter implements ChatWriter {
  readonly #source: TranslationSource;
  readonly #origin: ResponseOrigin;
  readonly #output: ResponseOutput;
  readonly #events = new EventWriter();
  readonly #maxHeldCharacters: number;
  #model: string;
  #usage: ResponseUsage | null = null;

  constructor(request: TranslatedRequest, source: TranslationSource, maxHeldCharacters: number) {
    const events = this.#events;
    this.#source = source;
    this.#origin = beginResponse(request, source);
    this.#model = request.model;
    this.#output = new ResponseOutput(
      (type, fields) => events.write(type, fields),
      request.toolNames,
      source,
    );
    this.#maxHeldCharacters = maxHeldCharacters;
  }

  get isOverfull(): boolean {
    return this.#output.heldCharacters > this.#maxHeldCharacters;
  }

  /** Writes `response.created` and `.in_progress`. */
  start(): void {
    const response = responseObject(this.#origin, this.#model, [], { kind: "in progress" });
    this.#events.write("response.created", { response });
    this.#events.write("response.in_progress", { response });
  }

  add({ content, model, usage }: ChatChoice): void {
    this.#model = model ?? this.#model;
    this.#usage = responseUsage(usage) ?? this.#usage;
    this.#output.add(content);
  }

  finish({ finishReason }: ChatEnd): void {
    const outcome = outcomeOf(finishReason);
    this.#output.close(outcome.status === "incomplete");
    const response = responseObject(this.#origin, this.#model, this.#output.items(), {
      kind: "ended",
      outcome,
      usage: this.#usage,
      atSeconds: this.#source.nowSeconds(),
    });
    this.#events.write(`response.${outcome.status}`, { response });
    this.#events.writeDone();
  }

  /** Both forms in one event, nested and flat: each SDK reads one of them. Contract §4. */
  fail(error: ProviderError): void {
    const { code, message, param } = error;
    this.#events.write("error", { error, code, message, param });
    const response = responseObject(this.#origin, this.#model, this.#output.abandonedItems(), {
      kind: "failed",
      error: { code, message },
    });
    this.#events.write("response.failed", { response });
    this.#events.writeDone();
  }

  take(): string {
    return this.#events.take();
  }
}

/**
 * Translates a whole chat completion as a response object: a stream of one chunk whose events are not read, so that both
 * kinds of response say the same.
 */
export function translateResponse(
  choice: ChatChoice,
  request: TranslatedRequest,
  source: TranslationSource,
): Buffer {
  const origin = beginResponse(request, source);
  const outcome = outcomeOf(choice.finishReason);
  const output = new ResponseOutput(() => {}, request.toolNames, source);
  output.add(choice.content);
  output.close(outcome.status === "incomplete");
  const usage = responseUsage(choice.usage);
  const response = responseObject(origin, choice.model ?? request.model, output.items(), {
    kind: "ended",
    outcome,
    usage,
    atSeconds: source.nowSeconds(),
  });
  return Buffer.from(JSON.stringify(response));
}
