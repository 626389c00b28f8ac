import { createSseReader, type StreamMarker } from "@roomhub/protocol";

/**
 * Whether one event's data carries generated content of any kind: text, reasoning, a tool call. A role-only chunk or
 * `response.created` does not. Contract §5.
 */
export function hasContent(data: string, marker: StreamMarker): boolean {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch {
    return false; // `[DONE]`, or a provider's noise
  }
  return marker === "responses" ? hasResponsesContent(event) : hasChatContent(event);
}

/** The data of each whole event in `text`. */
export function eventData(text: string): string[] {
  const found: string[] = [];
  createSseReader((message) => found.push(message.data)).feed(text);
  return found;
}

function hasResponsesContent(event: unknown): boolean {
  const { type, delta } = event as { type?: unknown; delta?: unknown };
  return typeof type === "string" && type.endsWith(".delta") && delta !== "" && delta !== undefined;
}

function hasChatContent(event: unknown): boolean {
  const { choices } = event as { choices?: unknown };
  return Array.isArray(choices) && choices.some(isChoiceWithContent);
}

const contentFields = [
  "content",
  "reasoning_content",
  "reasoning",
  "refusal",
  "tool_calls",
  "function_call",
  "audio",
];

function isChoiceWithContent(choice: unknown): boolean {
  if (typeof choice !== "object" || choice === null) return false;
  const { delta, text } = choice as { delta?: unknown; text?: unknown };
  if (isFilled(text)) return true;
  if (typeof delta !== "object" || delta === null) return false;
  return contentFields.some((field) => isFilled((delta as Record<string, unknown>)[field]));
}

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== "";
}
