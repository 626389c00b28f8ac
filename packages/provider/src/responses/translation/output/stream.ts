import { StringDecoder } from "node:string_decoder";
import { createSseReader, type SseMessage, type SseReader } from "@roomhub/protocol";
import { ResponseOutput } from "./response-output.ts";
import type { TranslatedRequest, TranslationSource } from "../translated-request.ts";
import { readChatChunk } from "../chat/chat-choice.ts";
import { ErrorField } from "../chat/error-field.ts";
import { EventWriter } from "./event-writer.ts";
import { outcomeOf } from "../chat/finish.ts";
import { type ProviderError, providerErrorIn } from "../chat/provider-error.ts";
import { beginResponse, type ResponseOrigin, responseObject } from "./response-object.ts";
import type { ReasoningField } from "../reasoning-field.ts";
import { type ResponseUsage, responseUsage } from "../chat/usage.ts";

/** What is kept for the response object at the end, or of an event whose end has not come. */
const defaultMaxHeldCharacters = 64 * 1024 * 1024;

/**
 * A chat stream translated as a Responses stream, event by event.
 *
 * ```
 * open ──[DONE], or a finish reason and the end──► complete   response.completed | response.incomplete
 *   ├────the provider sends an error─────────────► complete   error, response.failed
 *   └────no JSON, too much, an end too early─────► broken     nothing: the caller reports to the client what happened
 * ```
 *
 * After a finish reason it waits for the usage, which comes in a chunk of its own. Call `start` once, then `push` for
 * each chunk, then `end`.
 */
export class ResponsesStream {
  readonly #source: TranslationSource;
  readonly #origin: ResponseOrigin;
  readonly #output: ResponseOutput;
  readonly #events = new EventWriter();
  readonly #decoder = new StringDecoder("utf8");
  readonly #errorField = new ErrorField();
  readonly #reader: SseReader;
  readonly #maxHeldCharacters: number;
  #state: "open" | "complete" | "broken" = "open";
  #isEnding = false;
  #unfinishedBytes = 0;
  #model: string;
  #finishReason: string | undefined;
  #usage: ResponseUsage | null = null;
  #reasoningField: ReasoningField | undefined;

  constructor(
    request: TranslatedRequest,
    source: TranslationSource,
    maxHeldCharacters: number = defaultMaxHeldCharacters,
  ) {
    const events = this.#events;
    this.#source = source;
    this.#origin = beginResponse(request, source);
    this.#model = request.model;
    this.#output = new ResponseOutput(
      (type, fields) => events.write(type, fields),
      request.toolNames,
      source,
    );
    this.#reader = createSseReader((message) => this.#read(message));
    this.#maxHeldCharacters = maxHeldCharacters;
  }

  /** What was pushed is no chat stream, or longer than can be held: nothing more will come. */
  get isBroken(): boolean {
    return this.#state === "broken";
  }

  /** The server's field for reasoning, once it sent some. */
  get reasoningField(): ReasoningField | undefined {
    return this.#reasoningField;
  }

  /** Written as soon as the provider's 200 arrives, and not before. @returns `response.created` and `.in_progress` */
  start(): string {
    const response = responseObject(this.#origin, this.#model, [], { kind: "in progress" });
    this.#events.write("response.created", { response });
    this.#events.write("response.in_progress", { response });
    return this.#events.take();
  }

  /** @param chunk - the provider's bytes, cut anywhere; @returns zero or more whole events */
  push(chunk: Buffer): string {
    if (this.#state !== "open") return "";
    this.#unfinishedBytes += chunk.length;
    this.#reader.feed(this.#errorField.translate(this.#decoder.write(chunk)));
    if (this.#unfinishedBytes > this.#maxHeldCharacters) this.#break();
    return this.#events.take();
  }

  /**
   * The provider's stream ended in order.
   *
   * @returns the last events, and whether a terminal one was written, now or before
   */
  end(): { text: string; isComplete: boolean } {
    if (this.#state === "open") {
      this.#isEnding = true;
      // Servers that forget the last blank line mean their last event all the same.
      this.#reader.feed(this.#errorField.translate(`${this.#decoder.end()}\n\n`));
      if (this.#finishReason !== undefined) this.#finish();
    }
    return { text: this.#events.take(), isComplete: this.#state === "complete" };
  }

  #read({ event, data }: SseMessage): void {
    this.#unfinishedBytes = 0;
    // Some servers keep the connection alive with empty events.
    if (this.#state !== "open" || data === "") return;
    if (data.trim() === "[DONE]") return this.#finish();
    const value = parse(data);
    const error = providerErrorIn(value ?? data, event);
    if (error !== undefined) return this.#fail(error);
    // What the end cut off says nothing about what came before.
    if (value !== undefined) this.#add(value);
    else if (!this.#isEnding) this.#break();
  }

  #add(value: unknown): void {
    const { content, reasoningField, finishReason, model, usage } = readChatChunk(value);
    this.#reasoningField ??= reasoningField;
    this.#model = model ?? this.#model;
    this.#finishReason = finishReason ?? this.#finishReason;
    this.#usage = responseUsage(usage) ?? this.#usage;
    this.#output.add(content);
    if (this.#output.heldCharacters > this.#maxHeldCharacters) this.#break();
  }

  #finish(): void {
    if (this.#state !== "open") return;
    const outcome = outcomeOf(this.#finishReason);
    this.#output.close(outcome.status === "incomplete");
    const response = responseObject(this.#origin, this.#model, this.#output.items(), {
      kind: "ended",
      outcome,
      usage: this.#usage,
      atSeconds: this.#source.nowSeconds(),
    });
    this.#events.write(`response.${outcome.status}`, { response });
    this.#events.writeDone();
    this.#state = "complete";
  }

  /** Both forms in one event, nested and flat: each SDK reads one of them. Contract §4. */
  #fail(error: ProviderError): void {
    const { code, message, param } = error;
    this.#events.write("error", { error, code, message, param });
    const response = responseObject(this.#origin, this.#model, this.#output.abandonedItems(), {
      kind: "failed",
      error: { code, message },
    });
    this.#events.write("response.failed", { response });
    this.#events.writeDone();
    this.#state = "complete";
  }

  #break(): void {
    if (this.#state === "open") this.#state = "broken";
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch {
    return undefined; // the caller knows what that means where it stands
  }
}
