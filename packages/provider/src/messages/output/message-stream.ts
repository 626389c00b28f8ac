import type { ChatChoice } from "../../translation/chat/chat-choice.ts";
import {
  type ChatEnd,
  ChatStream,
  type ChatWriter,
  type ProviderError,
} from "../../translation/chat/chat-stream.ts";
import type { TranslationSource } from "../../translation/surface-translation.ts";
import type { TranslatedMessage } from "../request/request.ts";
import { type BlockStart, MessageBlocks } from "./message-blocks.ts";
import { failureIn, messageStop, messageUsage, noUsage, messageError } from "./message-end.ts";

/** Limit of text held until an open call has all its arguments. */
const maxWaitingCharacters = 1024 * 1024;
const maxHeldCharacters = 64 * 1024 * 1024;
/** How often a stream gets a comment as a sign of life while its client sees nothing else of it. */
const hiddenSeconds = 5;

/**
 * The signature of translated thinking. Clients send thinking back only with one; it is not checked here.
 */
export const THINKING_SIGNATURE = "cm9vbWh1Yg==";

/** A chat stream translated as the event stream of a message. */
export function messageStream(request: TranslatedMessage, source: TranslationSource): ChatStream {
  return new ChatStream(new MessageWriter(request, source));
}

/** A whole chat completion as the event stream of a message: some servers do not stream, or not with tools. */
export function streamedMessage(
  completion: ChatChoice,
  request: TranslatedMessage,
  source: TranslationSource,
): Buffer {
  const writer = new MessageWriter(request, source);
  writer.add(completion);
  writer.finish(completion);
  return Buffer.from(writer.take());
}

/**
 * Writes Anthropic's events: `message_start` with the first content, each block started and stopped once and one after
 * the other, `message_delta` with the reason and the usage, `message_stop`. An error ends the stream where it is.
 */
class MessageWriter implements ChatWriter {
  readonly #request: TranslatedMessage;
  readonly #source: TranslationSource;
  readonly #blocks: MessageBlocks;
  #text = "";
  #hasStarted = false;
  #index = -1;
  #kind: BlockStart["kind"] = "text";
  #lastSeconds: number | undefined;

  constructor(request: TranslatedMessage, source: TranslationSource) {
    this.#request = request;
    this.#source = source;
    this.#blocks = new MessageBlocks(
      {
        open: (block) => this.#open(block),
        add: (piece) => this.#delta(piece),
        close: () => this.#close(),
      },
      request,
      source,
    );
  }

  get isOverfull(): boolean {
    const { waitingCharacters, heldCharacters } = this.#blocks;
    return waitingCharacters > maxWaitingCharacters || heldCharacters > maxHeldCharacters;
  }

  /** Nothing: `message_start` comes with the first content. */
  start(): void {}

  add({ content, model }: ChatChoice): void {
    const { reasoning, text, refusal, calls } = content;
    if (reasoning === "" && text === "" && refusal === "" && calls.length === 0) return;
    this.#begin(model);
    const before = this.#text.length;
    this.#blocks.add(content);
    if (this.#text.length === before) this.#showLife();
    else this.#lastSeconds = undefined;
  }

  finish(end: ChatEnd): void {
    this.#begin(end.model);
    this.#blocks.end();
    const failure = failureIn(end.finishReason);
    if (failure !== undefined) {
      return this.#write(
        "error",
        messageError({ message: failure, code: "", type: "", param: "" }),
      );
    }
    const { hasCalls, hasRefusal } = this.#blocks;
    this.#write("message_delta", {
      type: "message_delta",
      delta: messageStop({ ...end, hasCalls, hasRefusal }),
      usage: messageUsage(end.usage, end.timings),
    });
    this.#write("message_stop", { type: "message_stop" });
  }

  fail(error: ProviderError): void {
    this.#write("error", messageError(error));
  }

  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  #begin(model: string | undefined): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#write("message_start", {
      type: "message_start",
      message: {
        id: this.#source.newId("msg"),
        type: "message",
        role: "assistant",
        model: model ?? this.#request.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: noUsage,
      },
    });
  }

  #open(block: BlockStart): void {
    this.#index++;
    this.#kind = block.kind;
    this.#write("content_block_start", {
      type: "content_block_start",
      index: this.#index,
      content_block: emptyBlock(block),
    });
  }

  #delta(piece: string): void {
    const delta = deltaOf(this.#kind, piece);
    this.#write("content_block_delta", { type: "content_block_delta", index: this.#index, delta });
  }

  #close(): void {
    const index = this.#index;
    if (this.#kind === "thinking") {
      const delta = { type: "signature_delta", signature: THINKING_SIGNATURE };
      this.#write("content_block_delta", { type: "content_block_delta", index, delta });
    }
    this.#write("content_block_stop", { type: "content_block_stop", index });
  }

  /** Reasoning that is left out is still a sign of life, which the relay of the stream waits for. */
  #showLife(): void {
    const nowSeconds = this.#source.nowSeconds();
    this.#lastSeconds ??= nowSeconds;
    if (nowSeconds - this.#lastSeconds < hiddenSeconds) return;
    this.#lastSeconds = nowSeconds;
    this.#text += ": generating\n\n";
  }

  #write(event: string, data: object): void {
    this.#text += `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  }
}

function emptyBlock(block: BlockStart): object {
  switch (block.kind) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: {} };
  }
}

function deltaOf(kind: BlockStart["kind"], piece: string): object {
  switch (kind) {
    case "text":
      return { type: "text_delta", text: piece };
    case "thinking":
      return { type: "thinking_delta", thinking: piece };
    case "tool_use":
      return { type: "input_json_delta", partial_json: piece };
  }
}
