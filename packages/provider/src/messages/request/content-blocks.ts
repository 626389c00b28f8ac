import type { JsonObject } from "@roomhub/protocol";
import {
  type ChatAttachment,
  type ChatPart,
  joinedText,
} from "../../translation/chat/chat-message.ts";
import {
  isAbsent,
  noCounterpart,
  objectAt,
  optionalString,
  quoted,
  requiredString,
  wrongType,
} from "../../translation/read-field.ts";

/** A block of content and its path: `messages[2].content[0]`. */
export interface PlacedBlock {
  block: JsonObject;
  type: string;
  path: string;
}

/**
 * The blocks of a message or a tool result; a text alone is one block.
 *
 * @throws UntranslatableError, as everything here
 */
export function readBlocks(content: unknown, path: string): PlacedBlock[] {
  if (typeof content === "string") return [{ block: { text: content }, type: "text", path }];
  if (!Array.isArray(content)) throw wrongType(path, "a string or an array of content blocks");
  return content.map((entry, index) => {
    const blockPath = `${path}[${index}]`;
    const block = objectAt(entry, blockPath);
    return { block, type: requiredString(block, "type", blockPath), path: blockPath };
  });
}

/** A block of a user message or a tool result as parts of a chat message. */
export function userParts({ block, type, path }: PlacedBlock): ChatPart[] {
  switch (type) {
    case "text":
      return [{ type: "text", text: requiredString(block, "text", path) }];
    case "image":
      return [readImage(block, path)];
    case "document":
      return readDocument(block, path);
    default:
      throw unknownBlock(type, path);
  }
}

export function unknownBlock(type: string, path: string): Error {
  return noCounterpart(
    `A content block of type ${quoted(type)}`,
    `${path}.type`,
    "Send text, images, text documents, tool calls and their results.",
  );
}

function readImage(block: JsonObject, path: string): ChatAttachment {
  const sourcePath = `${path}.source`;
  const source = objectAt(block["source"], sourcePath);
  return { type: "image_url", image_url: { url: imageUrl(source, sourcePath), detail: undefined } };
}

function imageUrl(source: JsonObject, path: string): string {
  const type = requiredString(source, "type", path);
  switch (type) {
    case "base64": {
      const mediaType = requiredString(source, "media_type", path);
      return `data:${mediaType};base64,${requiredString(source, "data", path)}`;
    }
    case "url":
      return requiredString(source, "url", path);
    default:
      throw noCounterpart(
        `An image from a source of type ${quoted(type)}`,
        `${path}.type`,
        "Send it as base64, or with its URL.",
      );
  }
}

/** A text document becomes text, after its title and context. */
function readDocument(block: JsonObject, path: string): ChatPart[] {
  const sourcePath = `${path}.source`;
  const source = objectAt(block["source"], sourcePath);
  const head = [optionalString(block, "title", path), optionalString(block, "context", path)]
    .filter((text) => text !== undefined && text !== "")
    .join("\n");
  const before: ChatPart[] = head === "" ? [] : [{ type: "text", text: head }];
  const type = requiredString(source, "type", sourcePath);
  const mediaType = source["media_type"];
  if (type === "text" && (isAbsent(mediaType) || mediaType === "text/plain")) {
    return [...before, { type: "text", text: requiredString(source, "data", sourcePath) }];
  }
  if (type === "content") {
    const blocks = readBlocks(source["content"], `${sourcePath}.content`);
    return before.concat(blocks.flatMap(documentParts));
  }
  throw noCounterpart(
    `A document from a source of type ${quoted(type)}`,
    `${sourcePath}.type`,
    "Send its text: a source of type text, with media_type text/plain.",
  );
}

/** A document contains no documents. */
function documentParts(placed: PlacedBlock): ChatPart[] {
  if (placed.type === "document") throw unknownBlock(placed.type, placed.path);
  return userParts(placed);
}

/**
 * The first line of Claude Code's system prompt. It differs in each request, so no prompt would begin with what a server has
 * cached.
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
 * A system message inside `messages`. It stays in its place, marked like the client's own reminders, since templates accept
 * system messages only at the beginning.
 */
export function readReminder(content: unknown, path: string): ChatPart {
  const text = readTexts(content, path).join("\n");
  return { type: "text", text: `<system-reminder>\n${text}\n</system-reminder>` };
}

function readTexts(content: unknown, path: string): string[] {
  return readBlocks(content, path).map((placed) => {
    if (placed.type !== "text") throw unknownBlock(placed.type, placed.path);
    return joinedText(userParts(placed));
  });
}
