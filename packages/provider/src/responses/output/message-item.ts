import type { EmitEvent } from "./event-writer.ts";
import type { ItemStatus } from "./response-object.ts";
import type { LogProb } from "../../translation/chat/chat-choice.ts";

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
export class MessageItem {
  readonly #emit: EmitEvent;
  readonly #id: string;
  readonly #outputIndex: number;
  readonly #parts: (TextPart | RefusalPart)[] = [];
  #part: TextPart | RefusalPart | undefined;
  #status: ItemStatus = "in_progress";

  constructor(emit: EmitEvent, id: string, outputIndex: number) {
    this.#emit = emit;
    this.#id = id;
    this.#outputIndex = outputIndex;
    emit("response.output_item.added", { output_index: outputIndex, item: this.json() });
  }

  addText(delta: string, logprobs: readonly LogProb[]): void {
    const part =
      this.#part?.type === "output_text"
        ? this.#part
        : this.#open({ type: "output_text", text: "", annotations: [], logprobs: [] });
    part.text += delta;
    for (const logprob of logprobs) part.logprobs.push(logprob);
    this.#emit("response.output_text.delta", { ...this.#place(), delta, logprobs });
  }

  addRefusal(delta: string): void {
    const part =
      this.#part?.type === "refusal" ? this.#part : this.#open({ type: "refusal", refusal: "" });
    part.refusal += delta;
    this.#emit("response.refusal.delta", { ...this.#place(), delta });
  }

  get isClosed(): boolean {
    return this.#status !== "in_progress";
  }

  /** @param isCut - the response was cut off in it */
  close(isCut: boolean): void {
    this.#closePart();
    this.#status = isCut ? "incomplete" : "completed";
    this.#emit("response.output_item.done", { output_index: this.#outputIndex, item: this.json() });
  }

  json(status: ItemStatus = this.#status): object {
    return {
      id: this.#id,
      type: "message",
      status,
      role: "assistant",
      content: this.#parts,
    };
  }

  #open<Part extends TextPart | RefusalPart>(part: Part): Part {
    this.#closePart();
    this.#parts.push(part);
    this.#part = part;
    this.#emit("response.content_part.added", { ...this.#place(), part });
    return part;
  }

  #closePart(): void {
    const part = this.#part;
    if (part === undefined) return;
    if (part.type === "output_text") {
      const { text, logprobs } = part;
      this.#emit("response.output_text.done", { ...this.#place(), text, logprobs });
    } else {
      this.#emit("response.refusal.done", { ...this.#place(), refusal: part.refusal });
    }
    this.#emit("response.content_part.done", { ...this.#place(), part });
    this.#part = undefined;
  }

  #place() {
    return {
      item_id: this.#id,
      output_index: this.#outputIndex,
      content_index: this.#parts.length - 1,
    };
  }
}
