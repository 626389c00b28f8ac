import type { JsonObject } from "@roomhub/protocol";
import { reasoningTexts, textContent, toolOutput, userContent } from "./content-parts.ts";
import {
  isAbsent,
  noCounterpart,
  objectAt,
  optionalArray,
  optionalString,
  quoted,
  requiredString,
  wrongType,
  UntranslatableError,
} from "../../translation/read-field.ts";
import type { ToolNaming } from "../../translation/tool-naming.ts";
import type { ChatMessage } from "../../translation/chat/chat-message.ts";
import { Transcript } from "./transcript.ts";

/**
 * `instructions` and `input` as chat messages, in order. History is translated or refused, never left out.
 *
 * @param naming - knows the declared tools; calls of tools that are no longer declared get names too
 * @throws UntranslatableError for items, roles and content chat does not know
 */
export function translateInput(body: JsonObject, naming: ToolNaming): ChatMessage[] {
  const transcript = new Transcript();
  const instructions = optionalString(body, "instructions", "");
  if (instructions !== undefined && instructions !== "") transcript.addSystem(instructions);
  addInput(transcript, body["input"], naming);
  const messages = transcript.messages();
  if (messages.length > 0) return messages;
  throw new UntranslatableError(
    "The request has no content: input and instructions are empty. Send at least one message.",
    "input",
  );
}

function addInput(transcript: Transcript, input: unknown, naming: ToolNaming): void {
  if (isAbsent(input)) return;
  if (typeof input === "string") return transcript.addUser(input);
  if (!Array.isArray(input)) throw wrongType("input", "a string or an array of items");
  for (const [index, entry] of input.entries()) {
    const path = `input[${index}]`;
    addItem(transcript, objectAt(entry, path), path, naming);
  }
}

function addItem(transcript: Transcript, item: JsonObject, path: string, naming: ToolNaming): void {
  const type = typeOf(item, path);
  switch (type) {
    case "message":
      return addMessage(transcript, item, path);
    case "reasoning":
      return addReasoning(transcript, item, path);
    case "function_call":
    case "custom_tool_call":
      return addCall(transcript, item, path, naming);
    case "function_call_output":
    case "custom_tool_call_output":
      return transcript.addToolResult({
        callId: requiredString(item, "call_id", path),
        ...toolOutput(item["output"], `${path}.output`),
      });
    default:
      throw noCounterpart(
        `An item of type ${quoted(type)}`,
        `${path}.type`,
        type === "item_reference"
          ? "Send the items themselves: store: false."
          : "Send the conversation as messages, tool calls and their outputs.",
      );
  }
}

/** The short form of a message has no `type`; the only other item without one is a reference. */
function typeOf(item: JsonObject, path: string): string {
  const type = optionalString(item, "type", path);
  if (type !== undefined) return type;
  return isAbsent(item["role"]) ? "item_reference" : "message";
}

/** Chat has no `phase`, `status` or `id`. */
function addMessage(transcript: Transcript, item: JsonObject, path: string): void {
  const role = requiredString(item, "role", path);
  const content = item["content"];
  const contentPath = `${path}.content`;
  switch (role) {
    case "user":
      return transcript.addUser(userContent(content, contentPath));
    case "assistant":
      return transcript.addAssistantText(textContent(content, contentPath));
    case "system":
    case "developer":
      return transcript.addSystem(textContent(content, contentPath));
    default:
      throw noCounterpart(
        `A message of role ${quoted(role)}`,
        `${path}.role`,
        "Use user, assistant, system or developer.",
      );
  }
}

/** The full reasoning if present, else its summary; only its provider can read encrypted reasoning. */
function addReasoning(transcript: Transcript, item: JsonObject, path: string): void {
  for (const key of ["content", "summary"]) {
    const texts = reasoningTexts(optionalArray(item, key, path) ?? [], `${path}.${key}`);
    for (const text of texts) transcript.addReasoning(text);
    if (texts.length > 0) return;
  }
}

function addCall(transcript: Transcript, item: JsonObject, path: string, naming: ToolNaming): void {
  const isCustom = item["type"] === "custom_tool_call";
  const name = naming.chatName({
    kind: isCustom ? "custom" : "function",
    name: requiredString(item, "name", path),
    namespace: optionalString(item, "namespace", path),
  });
  const args = isCustom
    ? JSON.stringify({ input: requiredString(item, "input", path) })
    : requiredString(item, "arguments", path);
  transcript.addCall({
    id: requiredString(item, "call_id", path),
    type: "function",
    // Models call functions without parameters with an empty string, which model servers cannot parse.
    function: { name, arguments: args === "" ? "{}" : args },
  });
}
