import type { ChatContent } from "../../translation/chat/chat-choice.ts";
import { ToolCalls, FunctionArguments } from "../../translation/chat/tool-calls.ts";
import { CallIds } from "../request/call-ids.ts";
import type { TranslatedMessage } from "../request/request.ts";
import type { TranslationSource } from "../../translation/surface-translation.ts";

/** Gets the blocks of a message in order: one is open at a time. */
export interface BlockSink {
  open(block: BlockStart): void;
  /** @param piece - never empty */
  add(piece: string): void;
  close(): void;
}

export type BlockStart =
  | { kind: "text" }
  | { kind: "thinking" }
  | { kind: "tool_use"; id: string; name: string };

interface Block {
  start: BlockStart;
  /** of a call, which is complete at their end */
  given: FunctionArguments | undefined;
  /** pieces that arrived while another block was open */
  waiting: string;
}

type BlocksRequest = Pick<TranslatedMessage, "toolNames" | "callIds" | "showsThinking">;

/** The size of a block besides its text. */
const charactersPerBlock = 1_024;

/**
 * The content of one message, block after block. A block is open until the next one begins, and a call also until its
 * arguments are whole: what comes meanwhile waits, since the pieces of parallel calls may come in any order.
 */
export class MessageBlocks {
  readonly #sink: BlockSink;
  readonly #request: BlocksRequest;
  readonly #callIds: CallIds;
  readonly #toolCalls = new ToolCalls((id, name) => this.#openCall(id, name));
  /** The first one is open; the others wait. */
  readonly #blocks: Block[] = [];
  #hasCalls = false;
  #hasRefusal = false;
  #waitingCharacters = 0;
  #heldCharacters = 0;

  constructor(sink: BlockSink, request: BlocksRequest, source: TranslationSource) {
    this.#sink = sink;
    this.#request = request;
    this.#callIds = new CallIds(request.callIds, () => source.newId("toolu"));
  }

  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  get hasRefusal(): boolean {
    return this.#hasRefusal;
  }

  /** characters that wait for an open call to end */
  get waitingCharacters(): number {
    return this.#waitingCharacters;
  }

  /** approximate size of the calls, kept until the message ends */
  get heldCharacters(): number {
    return this.#heldCharacters + this.#toolCalls.count * charactersPerBlock;
  }

  add({ reasoning, text, refusal, calls }: ChatContent): void {
    if (reasoning !== "" && this.#request.showsThinking) this.#speak("thinking", reasoning);
    if (text !== "") this.#speak("text", text);
    if (refusal !== "") {
      this.#hasRefusal = true;
      this.#speak("text", refusal);
    }
    for (const call of calls) {
      this.#heldCharacters += call.id.length + call.name.length + call.arguments.length;
      this.#toolCalls.add(call);
    }
  }

  /** Closes what is open, in order. */
  end(): void {
    this.#toolCalls.end();
    while (this.#blocks.length > 0) this.#closeFirst();
  }

  #speak(kind: "text" | "thinking", piece: string): void {
    const last = this.#blocks.at(-1);
    const block = last?.start.kind === kind ? last : this.#append({ kind }, undefined);
    this.#add(block, piece);
  }

  #openCall(providerId: string, chatName: string): { add(piece: string): void } {
    this.#hasCalls = true;
    const name = this.#request.toolNames.get(chatName)?.name ?? chatName;
    const id = this.#callIds.clientId(providerId);
    const given = new FunctionArguments();
    const block = this.#append({ kind: "tool_use", id, name }, given);
    return { add: (piece) => this.#add(block, given.add(piece)) };
  }

  #append(start: BlockStart, given: FunctionArguments | undefined): Block {
    const block = { start, given, waiting: "" };
    this.#blocks.push(block);
    if (this.#blocks.length === 1) this.#sink.open(start);
    else this.#advance();
    return block;
  }

  #add(block: Block, piece: string): void {
    if (piece === "") return;
    if (block === this.#blocks[0]) this.#sink.add(piece);
    else {
      block.waiting += piece;
      this.#waitingCharacters += piece.length;
    }
    this.#advance();
  }

  /** Closes blocks that others follow, up to one that may still grow. */
  #advance(): void {
    while (this.#blocks.length > 1 && this.#blocks[0]?.given?.isWhole !== false) this.#closeFirst();
  }

  #closeFirst(): void {
    this.#blocks.shift();
    this.#sink.close();
    const next = this.#blocks[0];
    if (next === undefined) return;
    this.#sink.open(next.start);
    if (next.waiting !== "") this.#sink.add(next.waiting);
    this.#waitingCharacters -= next.waiting.length;
    next.waiting = "";
  }
}
