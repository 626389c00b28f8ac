import { type ChatPart, joinedText } from "../../translation/chat/chat-message.ts";
import {
  eachOf,
  isAbsent,
  noCounterpart,
  PlacedObject,
  quoted,
  wrongType,
} from "../../translation/placed-object.ts";

/** A block of content; its path is like `messages[2].content[0]`. */
export interface PlacedBlock {
  block: PlacedObject;
  type: string;
}

/**
 * The blocks of a message or a tool result; a text alone is one block.
 *
 * @throws UntranslatableError, as everything here
 */
export function readBlocks(content: unknown, path: string): PlacedBlock[] {
  if (typeof content === "string") {
    return [{ block: new PlacedObject({ text: content }, path), type: "text" }];
  }
  if (!Array.isArray(content)) throw wrongType(path, "a string or an array of content blocks");
  return eachOf(content, path, (block) => ({ block, type: block.string("type") }));
}

/** A block of a user message or a tool result as parts of a chat message. */
export function userParts({ block, type }: PlacedBlock): ChatPart[] {
  switch (type) {
    case "text":
      return [{ type: "text", text: block.string("text") }];
    case "image": {
      const url = imageUrl(block.object("source"));
      return [{ type: "image_url", image_url: { url, detail: undefined } }];
    }
    case "document":
      return readDocument(block);
    default:
      throw unknownBlock({ block, type });
  }
}

export function unknownBlock({ block, type }: PlacedBlock): Error {
  return noCounterpart(
    `A content block of type ${quoted(type)}`,
    block.pathTo("type"),
    "Send text, images, text documents, tool calls and their results.",
  );
}

function imageUrl(source: PlacedObject): string {
  const type = source.string("type");
  switch (type) {
    case "base64":
      return `data:${source.string("media_type")};base64,${source.string("data")}`;
    case "url":
      return source.string("url");
    default:
      throw noCounterpart(
        `An image from a source of type ${quoted(type)}`,
        source.pathTo("type"),
        "Send it as base64, or with its URL.",
      );
  }
}

/** A text document becomes text, after its title and context. */
function readDocument(block: PlacedObject): ChatPart[] {
  const source = block.object("source");
  const head = [block.optionalString("title"), block.optionalString("context")]
    .filter((text) => text !== undefined && text !== "")
    .join("\n");
  const before: ChatPart[] = head === "" ? [] : [{ type: "text", text: head }];
  const type = source.string("type");
  const { media_type: mediaType, content } = source.value;
  if (type === "text" && (isAbsent(mediaType) || mediaType === "text/plain")) {
    return [...before, { type: "text", text: source.string("data") }];
  }
  if (type === "content") {
    return before.concat(readBlocks(content, source.pathTo("content")).flatMap(documentParts));
  }
  throw noCounterpart(
    `A document from a source of type ${quoted(type)}`,
    source.pathTo("type"),
    "Send its text: a source of type text, with media_type text/plain.",
  );
}

/** A document contains no documents. */
function documentParts(placed: PlacedBlock): ChatPart[] {
  if (placed.type === "document") throw unknownBlock(placed);
  return userParts(placed);
}

/**
 * The first line of Claude Code's system prompt. It differs in each request, so no prompt would begin with what a server has
 * cached.
 */
const attribution = /^x-anthropic-billing-header:[^\r\n]*(?:\r?\n)*/;

/** The `system` of a request as one text, empty when there is none. @throws UntranslatableError */
export function systemText({ value: { system } }: PlacedObject): string {
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
    if (placed.type !== "text") throw unknownBlock(placed);
    return joinedText(userParts(placed));
  });
}
