import { StringDecoder } from "node:string_decoder";
import {
  createSseReader,
  isObject,
  parseJson,
  readContextRefusal,
  type SseMessage,
  type SseReader,
} from "@roomhub/protocol";
import { type ChatChoice, readChatChunk } from "./chat-choice.ts";
import type { ReasoningField } from "./chat-message.ts";
import { fieldsOf, textOf } from "./provider-field.ts";

/** How a chat stream ended, as the provider reports it: undefined for what it did not. */
export type ChatEnd = Omit<ChatChoice, "content" | "reasoningField">;

/** Writes a chat stream as the events of one surface. */
export interface ChatWriter {
  /** Called once, when the provider's 200 arrives. */
  start(): void;
  /** What one chunk says. */
  add(chunk: ChatChoice): void;
  finish(end: ChatEnd): void;
  fail(error: ProviderError): void;
  /** It holds more than its limit. */
  readonly isOverfull: boolean;
  /** @returns the complete events written since the last call */
  take(): string;
}

/** Limit of an event without its end. */
const defaultMaxUnfinishedBytes = 64 * 1024 * 1024;

/**
 * Reads a chat stream, event by event, for a writer of another surface's events.
 *
 * ```
 * open ──[DONE], or a finish reason and the end──► complete   the writer's last event
 *   ├────the provider sends an error─────────────► complete   the writer's error event
 *   └────no JSON, too much, an end too early─────► broken     nothing: the caller reports to the client what happened
 * ```
 *
 * After a finish reason it waits for the usage, which comes in a chunk of its own. Call `start` once, then `push` for
 * each chunk, then `end`.
 */
export class ChatStream {
  readonly #writer: ChatWriter;
  readonly #decoder = new StringDecoder("utf8");
  readonly #errorField = new ErrorField();
  readonly #reader: SseReader;
  readonly #maxUnfinishedBytes: number;
  readonly #end: ChatEnd = {
    finishReason: undefined,
    stopSequence: undefined,
    usage: undefined,
    timings: undefined,
    model: undefined,
  };
  #state: "open" | "complete" | "broken" = "open";
  #isEnding = false;
  #unfinishedBytes = 0;
  #reasoningField: ReasoningField | undefined;

  constructor(writer: ChatWriter, maxUnfinishedBytes: number = defaultMaxUnfinishedBytes) {
    this.#writer = writer;
    this.#reader = createSseReader((message) => this.#read(message));
    this.#maxUnfinishedBytes = maxUnfinishedBytes;
  }

  /** The input is not a chat stream, or exceeds a limit: no more events follow. */
  get isBroken(): boolean {
    return this.#state === "broken";
  }

  /** The server's field for reasoning, once it sent some. */
  get reasoningField(): ReasoningField | undefined {
    return this.#reasoningField;
  }

  /** Called as soon as the provider's 200 arrives, and not before. @returns the events a stream begins with, if any */
  start(): string {
    this.#writer.start();
    return this.#writer.take();
  }

  /** @param chunk - the provider's bytes, cut anywhere; @returns zero or more whole events */
  push(chunk: Buffer): string {
    if (this.#state !== "open") return "";
    this.#unfinishedBytes += chunk.length;
    this.#reader.feed(this.#errorField.translate(this.#decoder.write(chunk)));
    if (this.#unfinishedBytes > this.#maxUnfinishedBytes) this.#break();
    return this.#writer.take();
  }

  /**
   * The provider's stream ended in order.
   *
   * @returns the last events, and whether a terminal one was written, now or before
   */
  end(): { text: string; isComplete: boolean } {
    if (this.#state === "open") {
      this.#isEnding = true;
      // Some servers forget the blank line after their last event.
      this.#reader.feed(this.#errorField.translate(`${this.#decoder.end()}\n\n`));
      if (this.#end.finishReason !== undefined) this.#finish();
    }
    return { text: this.#writer.take(), isComplete: this.#state === "complete" };
  }

  #read({ event, data }: SseMessage): void {
    this.#unfinishedBytes = 0;
    // Some servers keep the connection alive with empty events.
    if (this.#state !== "open" || data === "") return;
    if (data.trim() === "[DONE]") return this.#finish();
    const value = parseJson(data);
    const error = providerErrorIn(value ?? data, event);
    if (error !== undefined) return this.#fail(error);
    // A last event that was cut off proves nothing about the ones before it.
    if (value !== undefined) this.#add(value);
    else if (!this.#isEnding) this.#break();
  }

  #add(value: unknown): void {
    const chunk = readChatChunk(value);
    const end = this.#end;
    this.#reasoningField ??= chunk.reasoningField;
    end.model = chunk.model ?? end.model;
    end.finishReason = chunk.finishReason ?? end.finishReason;
    end.stopSequence = chunk.stopSequence ?? end.stopSequence;
    end.usage = chunk.usage ?? end.usage;
    end.timings = chunk.timings ?? end.timings;
    this.#writer.add(chunk);
    if (this.#writer.isOverfull) this.#break();
  }

  #finish(): void {
    if (this.#state !== "open") return;
    this.#writer.finish(this.#end);
    this.#state = this.#writer.isOverfull ? "broken" : "complete";
  }

  #fail(error: ProviderError): void {
    this.#writer.fail(error);
    this.#state = "complete";
  }

  #break(): void {
    if (this.#state === "open") this.#state = "broken";
  }
}

const fieldName = "error:";
const asEvent = "event: error\ndata:";
const atLineStart = /(?<=[\r\n])error:/g;
/** A line that may still become the field. */
const cutName = /(?<=^|[\r\n])(?:e|er|err|erro|error)$/;

/**
 * llama.cpp before September 2025 sends an error in a field named `error`, which readers of server-sent events ignore. Here it
 * becomes an `event: error`, as from other servers.
 */
export class ErrorField {
  #isLineStart = true;
  /** the beginning of a field name, held back until the rest of it arrives */
  #held = "";

  /** @param text - of the stream, cut anywhere @returns the same, without a field name that may go on in the next text */
  translate(text: string): string {
    const all = this.#held + text;
    this.#held = this.#beginningOfName(all);
    const known = all.slice(0, all.length - this.#held.length);
    const isField = this.#isLineStart && known.startsWith(fieldName);
    const last = known.at(-1);
    if (last !== undefined) this.#isLineStart = last === "\n" || last === "\r";
    const translated = known.includes(fieldName) ? known.replace(atLineStart, asEvent) : known;
    return isField ? asEvent + translated.slice(fieldName.length) : translated;
  }

  #beginningOfName(all: string): string {
    const name = cutName.exec(all.slice(-fieldName.length))?.[0] ?? "";
    // At the beginning of the text only if a line begins there.
    return name.length === all.length && !this.#isLineStart ? "" : name;
  }
}

/** A failure as the provider reports it, for an error event: no key is ever null (contract §6). */
export interface ProviderError {
  message: string;
  type: string;
  param: string;
  code: string;
}

/**
 * The error a chat stream may carry in place of a chunk: `{"error": {…}}`, `{"error": "text"}`, vLLM's
 * `{"object": "error", "message": …}`, or anything in an `event: error`.
 *
 * @returns undefined when the value is no error
 */
export function providerErrorIn(
  value: unknown,
  eventName: string | undefined,
): ProviderError | undefined {
  const { error, object } = fieldsOf(value);
  if (isObject(error) || textOf(error) !== "") return errorOf(error);
  return eventName === "error" || object === "error" ? errorOf(value) : undefined;
}

function errorOf(field: unknown): ProviderError {
  const fields = fieldsOf(field);
  const message =
    textOf(field) || word(fields["message"]) || "The provider reported an error in its stream.";
  const isTooLong = readContextRefusal(JSON.stringify({ error: { ...fields, message } }));
  return {
    message,
    type: word(fields["type"]) || "server_error",
    param: word(fields["param"]),
    // Clients compact a conversation at this code alone.
    code: isTooLong ? "context_length_exceeded" : word(fields["code"]) || "provider_error",
  };
}

/** Some servers put the HTTP status where the code belongs. */
function word(value: unknown): string {
  return typeof value === "number" ? String(value) : textOf(value);
}
