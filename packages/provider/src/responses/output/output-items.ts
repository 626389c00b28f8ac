import type { LogProb } from "../../translation/chat/chat-choice.ts";
import { FunctionArguments } from "../../translation/chat/tool-calls.ts";
import type { ToolName } from "../../translation/tool-naming.ts";
import { CustomInput } from "./custom-input.ts";
import type { EmitEvent } from "./event-writer.ts";

type ItemStatus = "in_progress" | "completed" | "incomplete";

/** One item of the output: written as events while it grows, and as JSON for the response object. */
abstract class OutputItem {
  protected readonly emit: EmitEvent;
  protected readonly place: { item_id: string; output_index: number };
  #status: ItemStatus = "in_progress";

  constructor(emit: EmitEvent, id: string, outputIndex: number) {
    this.emit = emit;
    this.place = { item_id: id, output_index: outputIndex };
  }

  protected abstract readonly type: string;
  /** What the item has besides id, type and status. */
  protected abstract fields(): object;
  /** @param isCut - the response was cut off in it */
  abstract close(isCut: boolean): void;

  get isClosed(): boolean {
    return this.#status !== "in_progress";
  }

  json(status: ItemStatus = this.#status): object {
    return { id: this.place.item_id, type: this.type, status, ...this.fields() };
  }

  protected begin(): void {
    const { output_index } = this.place;
    this.emit("response.output_item.added", { output_index, item: this.json() });
  }

  protected finish(isComplete: boolean): void {
    this.#status = isComplete ? "completed" : "incomplete";
    const { output_index } = this.place;
    this.emit("response.output_item.done", { output_index, item: this.json() });
  }
}

interface TextPart {
  type: "output_text";
  text: string;
  annotations: never[];
  logprobs: LogProb[];
}

interface RefusalPart {
  type: "refusal";
  refusal: string;
}

/** What the model says: one message of text and refusal parts, one of which is open at a time. */
export class MessageItem extends OutputItem {
  protected override readonly type = "message";
  readonly #parts: (TextPart | RefusalPart)[] = [];
  #part: TextPart | RefusalPart | undefined;

  constructor(emit: EmitEvent, id: string, outputIndex: number) {
    super(emit, id, outputIndex);
    this.begin();
  }

  addText(delta: string, logprobs: readonly LogProb[]): void {
    const part =
      this.#part?.type === "output_text"
        ? this.#part
        : this.#open({ type: "output_text", text: "", annotations: [], logprobs: [] });
    part.text += delta;
    for (const logprob of logprobs) part.logprobs.push(logprob);
    this.emit("response.output_text.delta", { ...this.#partPlace(), delta, logprobs });
  }

  addRefusal(delta: string): void {
    const part =
      this.#part?.type === "refusal" ? this.#part : this.#open({ type: "refusal", refusal: "" });
    part.refusal += delta;
    this.emit("response.refusal.delta", { ...this.#partPlace(), delta });
  }

  override close(isCut: boolean): void {
    this.#closePart();
    this.finish(!isCut);
  }

  protected override fields(): object {
    return { role: "assistant", content: this.#parts };
  }

  #open<Part extends TextPart | RefusalPart>(part: Part): Part {
    this.#closePart();
    this.#parts.push(part);
    this.#part = part;
    this.emit("response.content_part.added", { ...this.#partPlace(), part });
    return part;
  }

  #closePart(): void {
    const part = this.#part;
    if (part === undefined) return;
    if (part.type === "output_text") {
      const { text, logprobs } = part;
      this.emit("response.output_text.done", { ...this.#partPlace(), text, logprobs });
    } else {
      this.emit("response.refusal.done", { ...this.#partPlace(), refusal: part.refusal });
    }
    this.emit("response.content_part.done", { ...this.#partPlace(), part });
    this.#part = undefined;
  }

  #partPlace() {
    return { ...this.place, content_index: this.#parts.length - 1 };
  }
}

/**
 * What the model thinks, in the summary form: one part. It is the form that @ai-sdk/openai, Codex and OpenAI's agents
 * read; no client reads only the other.
 */
export class ReasoningItem extends OutputItem {
  protected override readonly type = "reasoning";
  readonly #partPlace: object;
  #text = "";

  constructor(emit: EmitEvent, id: string, outputIndex: number) {
    super(emit, id, outputIndex);
    this.#partPlace = { ...this.place, summary_index: 0 };
    this.begin();
    emit("response.reasoning_summary_part.added", { ...this.#partPlace, part: this.#part() });
  }

  add(delta: string): void {
    this.#text += delta;
    this.emit("response.reasoning_summary_text.delta", { ...this.#partPlace, delta });
  }

  override close(isCut: boolean): void {
    this.emit("response.reasoning_summary_text.done", { ...this.#partPlace, text: this.#text });
    this.emit("response.reasoning_summary_part.done", { ...this.#partPlace, part: this.#part() });
    this.finish(!isCut);
  }

  protected override fields(): object {
    return { summary: this.#text === "" ? [] : [this.#part()] };
  }

  #part() {
    return { type: "summary_text", text: this.#text };
  }
}

const wordsOf = {
  function: {
    item: "function_call",
    text: "arguments",
    delta: "response.function_call_arguments.delta",
    done: "response.function_call_arguments.done",
  },
  custom: {
    item: "custom_tool_call",
    text: "input",
    delta: "response.custom_tool_call_input.delta",
    done: "response.custom_tool_call_input.done",
  },
} as const;

/** A call the model makes, whichever kind of tool it is for. */
export class CallItem extends OutputItem {
  protected override readonly type: string;
  readonly #words: (typeof wordsOf)[ToolName["kind"]];
  readonly #callId: string;
  readonly #tool: ToolName;
  readonly #given: FunctionArguments | CustomInput;

  constructor(emit: EmitEvent, id: string, outputIndex: number, callId: string, tool: ToolName) {
    super(emit, id, outputIndex);
    this.#words = wordsOf[tool.kind];
    this.type = this.#words.item;
    this.#callId = callId;
    this.#tool = tool;
    this.#given = tool.kind === "custom" ? new CustomInput() : new FunctionArguments();
    this.begin();
  }

  /** @param piece - of the chat arguments; what comes after the end is ignored */
  add(piece: string): void {
    if (!this.isClosed) this.#pass(this.#given.add(piece));
  }

  /** All arguments are there: nothing can follow. */
  get isWhole(): boolean {
    return this.#given.isWhole;
  }

  /** @param isCut - the response was cut off; a whole call is complete all the same */
  override close(isCut: boolean): void {
    this.#pass(this.#given.end());
    const { kind, name } = this.#tool;
    this.emit(this.#words.done, {
      ...this.place,
      ...(kind === "function" ? { name } : {}),
      [this.#words.text]: this.#given.text,
    });
    this.finish(!isCut || this.isWhole);
  }

  protected override fields(): object {
    const { name, namespace } = this.#tool;
    return {
      call_id: this.#callId,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      [this.#words.text]: this.#given.text,
    };
  }

  #pass(delta: string): void {
    if (delta !== "") this.emit(this.#words.delta, { ...this.place, delta });
  }
}
