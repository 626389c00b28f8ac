import type { ToolName } from "../../translation/tool-naming.ts";
import { CustomInput } from "./custom-input.ts";
import type { EmitEvent } from "./event-writer.ts";
import type { ItemStatus } from "./response-object.ts";
import { FunctionArguments } from "../../translation/chat/tool-calls.ts";

/** What a call is given, taken out of its chat arguments while they arrive. */
export interface CallText {
  /** all of it so far */
  readonly text: string;
  /** It has come to its end: nothing can follow. */
  readonly isWhole: boolean;
  /** @returns the text that this piece of the arguments makes known */
  add(piece: string): string;
  /** @returns the text that was not known before the last piece */
  end(): string;
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
export class CallItem {
  readonly #emit: EmitEvent;
  readonly #id: string;
  readonly #outputIndex: number;
  readonly #callId: string;
  readonly #tool: ToolName;
  readonly #given: CallText;
  #status: ItemStatus = "in_progress";

  constructor(emit: EmitEvent, id: string, outputIndex: number, callId: string, tool: ToolName) {
    this.#emit = emit;
    this.#id = id;
    this.#outputIndex = outputIndex;
    this.#callId = callId;
    this.#tool = tool;
    this.#given = tool.kind === "custom" ? new CustomInput() : new FunctionArguments();
    emit("response.output_item.added", { output_index: outputIndex, item: this.json() });
  }

  /** @param piece - of the chat arguments; what comes after the end is ignored */
  add(piece: string): void {
    if (!this.isClosed) this.#pass(this.#given.add(piece));
  }

  /** All arguments are there: nothing can follow. */
  get isWhole(): boolean {
    return this.#given.isWhole;
  }

  get isClosed(): boolean {
    return this.#status !== "in_progress";
  }

  /** @param isCut - the response was cut off; a whole call is complete all the same */
  close(isCut: boolean): void {
    this.#pass(this.#given.end());
    const { kind, name } = this.#tool;
    const words = wordsOf[kind];
    this.#emit(words.done, {
      ...this.#place(),
      ...(kind === "function" ? { name } : {}),
      [words.text]: this.#given.text,
    });
    this.#status = isCut && !this.isWhole ? "incomplete" : "completed";
    this.#emit("response.output_item.done", { output_index: this.#outputIndex, item: this.json() });
  }

  json(status: ItemStatus = this.#status): object {
    const { kind, name, namespace } = this.#tool;
    return {
      id: this.#id,
      type: wordsOf[kind].item,
      status,
      call_id: this.#callId,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      [wordsOf[kind].text]: this.#given.text,
    };
  }

  #pass(delta: string): void {
    if (delta === "") return;
    this.#emit(wordsOf[this.#tool.kind].delta, { ...this.#place(), delta });
  }

  #place() {
    return { item_id: this.#id, output_index: this.#outputIndex };
  }
}
