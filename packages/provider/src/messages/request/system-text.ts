import type { ChatPart } from "../../translation/chat/chat-message.ts";
import { isAbsent, type JsonObject } from "../../translation/read-field.ts";
import { readBlocks, textOf, unknownBlock, userParts } from "./content-blocks.ts";

/**
 * The line with which Claude Code begins its system prompt. It is another one for each request, and so the beginning of
 * no prompt would be in a server's cache.
 */
const attribution = /^x-anthropic-billing-header:[^\r\n]*(?:\r?\n)*/;

/** The `system` of a request as one text, empty when there is none. @throws UntranslatableError */
export function systemText(request: JsonObject): string {
  const { system } = request;
  if (isAbsent(system)) return "";
  return readTexts(system, "system")
    .map((text, index) => (index === 0 ? text.replace(attribution, "") : text))
    .filter((text) => text !== "")
    .join("\n\n");
}

/**
 * A system message inside of `messages`. It stays where it is, marked as the client marks its own, since templates take
 * system messages at the beginning only.
 */
export function readReminder(content: unknown, path: string): ChatPart {
  const text = readTexts(content, path).join("\n");
  return { type: "text", text: `<system-reminder>\n${text}\n</system-reminder>` };
}

function readTexts(content: unknown, path: string): string[] {
  return readBlocks(content, path).map((placed) => {
    if (placed.type !== "text") throw unknownBlock(placed.type, placed.path);
    return textOf(userParts(placed));
  });
}
