import type { ChatPart } from "../../translation/chat/chat-message.ts";
import { isAbsent, optionalBoolean, requiredString } from "../../translation/read-field.ts";
import { type PlacedBlock, readBlocks, userParts } from "./content-blocks.ts";

export interface ToolResult {
  /** as the client has it */
  callId: string;
  parts: ChatPart[];
  isError: boolean;
  path: string;
}

/** A result may be empty, and then has no content at all. */
export function readToolResult({ block, path }: PlacedBlock): ToolResult {
  const { content } = block;
  const blocks = isAbsent(content) ? [] : readBlocks(content, `${path}.content`);
  return {
    callId: requiredString(block, "tool_use_id", path),
    parts: blocks.flatMap(userParts),
    isError: optionalBoolean(block, "is_error", path) ?? false,
    path,
  };
}
