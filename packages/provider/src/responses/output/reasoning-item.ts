import type { EmitEvent } from "./event-writer.ts";
import type { ItemStatus } from "./response-object.ts";

/**
 * What the model thinks, in the summary form: one part. It is the form that @ai-sdk/openai, Codex and OpenAI's agents
 * read; no client reads only the other.
 */
export class ReasoningItem {
  readonly #emit: EmitEvent;
  readonly #id: string;
  readonly #outputIndex: number;
  readonly #place: { item_id: string; output_index: number; summary_index: number };
  #text = "";
  #status: ItemStatus = "in_progress";

  constructor(emit: EmitEvent, id: string, outputIndex: number) {
    this.#emit = emit;
    this.#id = id;
    this.#outputIndex = outputIndex;
    this.#place = { item_id: id, output_index: outputIndex, summary_index: 0 };
    emit("response.output_item.added", { output_index: outputIndex, item: this.json() });
    emit("response.reasoning_summary_part.added", { ...this.#place, part: this.#part() });
  }

  add(delta: string): void {
    this.#text += delta;
    this.#emit("response.reasoning_summary_text.delta", { ...this.#place, delta });
  }

  get isClosed(): boolean {
    return this.#status !== "in_progress";
  }

  /** @param isCut - the response was cut off in it */
  close(isCut: boolean): void {
    this.#emit("response.reasoning_summary_text.done", { ...this.#place, text: this.#text });
    this.#emit("response.reasoning_summary_part.done", { ...this.#place, part: this.#part() });
    this.#status = isCut ? "incomplete" : "completed";
    this.#emit("response.output_item.done", { output_index: this.#outputIndex, item: this.json() });
  }

  json(status: ItemStatus = this.#status): object {
    return {
      id: this.#id,
      type: "reasoning",
      status,
      summary: this.#text === "" ? [] : [this.#part()],
    };
  }

  #part() {
    return { type: "summary_text", text: this.#text };
  }
}
