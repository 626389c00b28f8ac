import { isObject } from "./json-object.ts";
import type { StreamMarker } from "./surface.ts";

/** Keys of a chat stream's `delta` that hold text, reasoning, a refusal, a tool call or sound. */
const chatFields = [
  "content",
  "reasoning_content",
  "reasoning",
  "refusal",
  "tool_calls",
  "function_call",
  "audio",
];
/** The same key in a choice of the older completions. */
const completionField = "text";
/** Every `….delta` event of a Responses stream. */
const responsesField = "delta";
/** Keys of a messages stream's `delta` and `content_block`. */
const messagesFields = ["text", "thinking", "partial_json"];
/** A content block that calls a tool (`tool_use`, `server_tool_use`) has the tool's name from the start. */
const toolBlock = "tool_use";
/** Keys of an event with a piece of a transcript, of sound, or a picture. */
const mediaFields = ["delta", "text", "audio", "b64_json"];

/**
 * Whether an event carries generated content of any kind: text, reasoning, a tool call. A role-only chunk,
 * `response.created` or `message_start` does not. Contract §5.
 */
export function hasGeneratedContent(
  event: Readonly<Record<string, unknown>>,
  marker: StreamMarker,
): boolean {
  switch (marker) {
    case "chat":
    case "none":
      return Array.isArray(event["choices"]) && event["choices"].some(isFilledChoice);
    case "responses":
      return String(event["type"]).endsWith(".delta") && isFilled(event[responsesField]);
    case "messages":
      return isFilledBlock(event);
    case "media":
      return hasFilled(event, mediaFields);
  }
}

function isFilledChoice(choice: unknown): boolean {
  if (!isObject(choice)) return false;
  return isFilled(choice[completionField]) || hasFilled(choice["delta"], chatFields);
}

/** A text block starts empty. */
function isFilledBlock({ type, delta, content_block: block }: Record<string, unknown>): boolean {
  if (type === "content_block_delta") return hasFilled(delta, messagesFields);
  if (type !== "content_block_start" || !isObject(block)) return false;
  return String(block["type"]).endsWith(toolBlock) || hasFilled(block, messagesFields);
}

function hasFilled(value: unknown, fields: readonly string[]): boolean {
  return isObject(value) && fields.some((field) => isFilled(value[field]));
}

function isFilled(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return value !== undefined && value !== null && value !== "";
}

/** Whitespace as JSON encoders write it. */
const gap = "\\s{0,4}";
const colon = `${gap}:${gap}`;
const filledString = '"[^"]';

const chatPattern = new RegExp(
  `${keyIn([...chatFields, completionField])}${colon}(?:${filledString}|\\[${gap}[^\\]\\s]|\\{${gap}[^}\\s])`,
);

/**
 * The start of generated content in the text of a stream, up to its first character: the same rule as
 * {@link hasGeneratedContent} for a reader that parses no JSON. Inside a JSON string quotes are escaped, so text that a
 * model generates does not match. A match is at most 64 characters long.
 */
export const GENERATED_CONTENT: Readonly<Record<StreamMarker, RegExp>> = {
  chat: chatPattern,
  none: chatPattern,
  responses: new RegExp(`${keyIn([responsesField])}${colon}${filledString}`),
  media: new RegExp(`${keyIn(mediaFields)}${colon}${filledString}`),
  messages: new RegExp(
    `${keyIn(messagesFields)}${colon}${filledString}|"type"${colon}"[a-z_]{0,32}${toolBlock}"`,
  ),
};

function keyIn(keys: readonly string[]): string {
  return `"(?:${keys.join("|")})"`;
}
