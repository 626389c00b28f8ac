import { textContent, toolOutput, userContent } from "./content-parts.ts";
import {
  eachOf,
  isAbsent,
  noCounterpart,
  type PlacedObject,
  quoted,
  UntranslatableError,
  wrongType,
} from "../../translation/placed-object.ts";
import type { ToolNaming } from "../../translation/tool-naming.ts";
import type { ChatMessage } from "../../translation/chat/chat-message.ts";
import { Transcript } from "./transcript.ts";

/**
 * `instructions` and `input` as chat messages, in order. History is translated or refused, never left out.
 *
 * @param naming - knows the declared tools; calls of tools that are no longer declared get names too
 * @throws UntranslatableError for items, roles and content chat does not know
 */
export function translateInput(body: PlacedObject, naming: ToolNaming): ChatMessage[] {
  const transcript = new Transcript();
  const instructions = body.optionalString("instructions");
  if (instructions !== undefined && instructions !== "") transcript.addSystem(instructions);
  addInput(transcript, body.value["input"], naming);
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
  eachOf(input, "input", (item) => addItem(transcript, item, naming));
}

function addItem(transcript: Transcript, item: PlacedObject, naming: ToolNaming): void {
  const type = typeOf(item);
  switch (type) {
    case "message":
      return addMessage(transcript, item);
    case "reasoning":
      return addReasoning(transcript, item);
    case "function_call":
    case "custom_tool_call":
      return addCall(transcript, item, naming);
    case "function_call_output":
    case "custom_tool_call_output":
      return transcript.addToolResult({
        callId: item.string("call_id"),
        ...toolOutput(item.value["output"], item.pathTo("output")),
      });
    default:
      throw noCounterpart(
        `An item of type ${quoted(type)}`,
        item.pathTo("type"),
        type === "item_reference"
          ? "Send the items themselves: store: false."
          : "Send the conversation as messages, tool calls and their outputs.",
      );
  }
}

/** The short form of a message has no `type`; the only other item without one is a reference. */
function typeOf(item: PlacedObject): string {
  return item.optionalString("type") ?? (item.has("role") ? "message" : "item_reference");
}

/** Chat has no `phase`, `status` or `id`. */
function addMessage(transcript: Transcript, item: PlacedObject): void {
  const role = item.string("role");
  const { content } = item.value;
  const path = item.pathTo("content");
  switch (role) {
    case "user":
      return transcript.addUser(userContent(content, path));
    case "assistant":
      return transcript.addAssistantText(textContent(content, path));
    case "system":
    case "developer":
      return transcript.addSystem(textContent(content, path));
    default:
      throw noCounterpart(
        `A message of role ${quoted(role)}`,
        item.pathTo("role"),
        "Use user, assistant, system or developer.",
      );
  }
}

/** The full reasoning if present, else its summary; only its provider can read encrypted reasoning. */
function addReasoning(transcript: Transcript, item: PlacedObject): void {
  for (const key of ["content", "summary"]) {
    const texts = item.each(key, (part) => part.string("text"));
    for (const text of texts) transcript.addReasoning(text);
    if (texts.length > 0) return;
  }
}

function addCall(transcript: Transcript, item: PlacedObject, naming: ToolNaming): void {
  const isCustom = item.value["type"] === "custom_tool_call";
  const name = naming.chatName({
    kind: isCustom ? "custom" : "function",
    name: item.string("name"),
    namespace: item.optionalString("namespace"),
  });
  const args = isCustom
    ? JSON.stringify({ input: item.string("input") })
    : item.string("arguments");
  transcript.addCall({
    id: item.string("call_id"),
    type: "function",
    // Models call functions without parameters with an empty string, which model servers cannot parse.
    function: { name, arguments: args === "" ? "{}" : args },
  });
}
