import type { ToolNames } from "../../translation/tool-naming.ts";
import type { TranslationSource } from "../../translation/surface-translation.ts";
import type { ChatContent } from "../../translation/chat/chat-choice.ts";
import type { EmitEvent } from "./event-writer.ts";
import { ToolCalls } from "../../translation/chat/tool-calls.ts";
import { CallItem, MessageItem, ReasoningItem } from "./output-items.ts";

/** The size of an item besides its text: ids and objects. */
const charactersPerItem = 1_024;
const charactersPerLogProb = 128;

/**
 * The output of one response, item after item. Text, reasoning and calls with complete arguments are closed before the next
 * item opens. Other calls stay open, since the pieces of parallel calls may come in any order.
 */
export class ResponseOutput {
  readonly #emit: EmitEvent;
  readonly #toolNames: ToolNames;
  readonly #source: TranslationSource;
  readonly #items: (MessageItem | ReasoningItem | CallItem)[] = [];
  readonly #openCalls = new Set<CallItem>();
  readonly #toolCalls = new ToolCalls((id, name) => this.#openCall(id, name));
  #speech: MessageItem | ReasoningItem | undefined;
  #heldCharacters = 0;

  constructor(emit: EmitEvent, toolNames: ToolNames, source: TranslationSource) {
    this.#emit = emit;
    this.#toolNames = toolNames;
    this.#source = source;
  }

  /** Approximate size of what is kept for the response object at the end. */
  get heldCharacters(): number {
    const objects = this.#items.length + this.#toolCalls.count;
    return this.#heldCharacters + objects * charactersPerItem;
  }

  add({ reasoning, text, refusal, calls, logprobs }: ChatContent): void {
    this.#heldCharacters += reasoning.length + text.length + refusal.length;
    for (const { top_logprobs: top } of logprobs) {
      this.#heldCharacters += (1 + top.length) * charactersPerLogProb;
    }
    if (reasoning !== "") this.#reasoning().add(reasoning);
    if (text !== "") this.#message().addText(text, logprobs);
    if (refusal !== "") this.#message().addRefusal(refusal);
    for (const call of calls) {
      this.#heldCharacters += call.id.length + call.name.length + call.arguments.length;
      this.#toolCalls.add(call);
    }
  }

  /** @param isCut - the response ended before its end: what is open is incomplete */
  close(isCut: boolean): void {
    this.#toolCalls.end();
    for (const item of this.#items) {
      if (!item.isClosed) item.close(isCut);
    }
  }

  /** The items so far, in order, as the response object has them. */
  items(): object[] {
    return this.#items.map((item) => item.json());
  }

  /** The items of a response that failed: open ones are incomplete, though no event says so. */
  abandonedItems(): object[] {
    return this.#items.map((item) => (item.isClosed ? item.json() : item.json("incomplete")));
  }

  #reasoning(): ReasoningItem {
    if (this.#speech instanceof ReasoningItem) return this.#speech;
    this.#closeBeforeNext();
    return this.#begin(
      (this.#speech = new ReasoningItem(this.#emit, this.#source.newId("rs"), this.#items.length)),
    );
  }

  #message(): MessageItem {
    if (this.#speech instanceof MessageItem) return this.#speech;
    this.#closeBeforeNext();
    return this.#begin(
      (this.#speech = new MessageItem(this.#emit, this.#source.newId("msg"), this.#items.length)),
    );
  }

  #openCall(chatId: string, chatName: string): CallItem {
    this.#closeBeforeNext();
    const tool = this.#toolNames.get(chatName) ?? {
      kind: "function",
      name: chatName,
      namespace: undefined,
    };
    const id = this.#source.newId(tool.kind === "custom" ? "ctc" : "fc");
    const callId = chatId === "" ? this.#source.newId("call") : chatId;
    const call = new CallItem(this.#emit, id, this.#items.length, callId, tool);
    this.#openCalls.add(call);
    return this.#begin(call);
  }

  #begin<Item extends MessageItem | ReasoningItem | CallItem>(item: Item): Item {
    this.#items.push(item);
    return item;
  }

  #closeBeforeNext(): void {
    this.#speech?.close(false);
    this.#speech = undefined;
    for (const call of this.#openCalls) {
      if (!call.isWhole) continue;
      call.close(false);
      this.#openCalls.delete(call);
    }
  }
}
