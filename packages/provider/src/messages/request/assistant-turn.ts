import type { ChatToolCall } from "../../translation/chat/chat-message.ts";
import { objectAt, optionalString, quoted, requiredString } from "../../translation/read-field.ts";
import type { ToolNaming } from "../../translation/tool-naming.ts";
import { UntranslatableError } from "../../translation/untranslatable-error.ts";
import { providerCallId } from "./call-ids.ts";
import { type PlacedBlock, unknownBlock } from "./content-blocks.ts";

/** What an assistant message says. */
export interface AssistantTurn {
  role: "assistant";
  /** of its first message */
  path: string;
  thoughts: string[];
  texts: string[];
  /** by the id that the client has for it, in order */
  calls: Map<string, { call: ChatToolCall; path: string }>;
}

/** Only the text of a thought counts here; its signature is ignored. What is encrypted says nothing to another server. */
export function readAssistantBlock(
  turn: AssistantTurn,
  placed: PlacedBlock,
  naming: ToolNaming,
): void {
  const { block, type, path } = placed;
  switch (type) {
    case "text": {
      const text = requiredString(block, "text", path);
      if (text !== "") turn.texts.push(text);
      return;
    }
    case "thinking": {
      const thought = optionalString(block, "thinking", path) ?? "";
      if (thought !== "") turn.thoughts.push(thought);
      return;
    }
    case "redacted_thinking":
      return;
    case "tool_use":
      return readCall(turn, placed, naming);
    default:
      throw unknownBlock(type, path);
  }
}

function readCall(turn: AssistantTurn, { block, path }: PlacedBlock, naming: ToolNaming): void {
  const id = requiredString(block, "id", path);
  if (turn.calls.has(id)) {
    throw new UntranslatableError(
      `${path}.id is the id of another call in the same message: ${quoted(id)}. Give each call its own.`,
      `${path}.id`,
      "unsupported_value",
    );
  }
  const name = requiredString(block, "name", path);
  const input = objectAt(block["input"], `${path}.input`);
  const call: ChatToolCall = {
    id: providerCallId(id),
    type: "function",
    function: {
      name: naming.chatName({ kind: "function", name, namespace: undefined }),
      arguments: JSON.stringify(input),
    },
  };
  turn.calls.set(id, { call, path });
}
