/**
 * The events a translated stream may have: those of Open Responses 2026-04-24, in the names OpenAI's SDKs read, and
 * OpenAI's own for custom tools.
 */
export type StreamEventType =
  | "response.created"
  | "response.in_progress"
  | "response.completed"
  | "response.incomplete"
  | "response.failed"
  | "response.output_item.added"
  | "response.output_item.done"
  | "response.content_part.added"
  | "response.content_part.done"
  | "response.output_text.delta"
  | "response.output_text.done"
  | "response.refusal.delta"
  | "response.refusal.done"
  | "response.reasoning_summary_part.added"
  | "response.reasoning_summary_part.done"
  | "response.reasoning_summary_text.delta"
  | "response.reasoning_summary_text.done"
  | "response.function_call_arguments.delta"
  | "response.function_call_arguments.done"
  | "response.custom_tool_call_input.delta"
  | "response.custom_tool_call_input.done"
  | "error";

/** @param fields - of the event besides type and number; written before the call returns */
export type EmitEvent = (type: StreamEventType, fields: object) => void;

/** Numbers events from 0 and writes them as server-sent events, until they are taken. */
export class EventWriter {
  #text = "";
  #sequenceNumber = 0;

  write(type: StreamEventType, fields: object): void {
    const event = { type, sequence_number: this.#sequenceNumber++, ...fields };
    this.#text += `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
  }

  /** Required by Open Responses; OpenAI's SDKs accept it. */
  writeDone(): void {
    this.#text += "data: [DONE]\n\n";
  }

  /** @returns the complete events written since the last call */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }
}
