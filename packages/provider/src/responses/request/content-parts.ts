import type { JsonObject } from "@roomhub/protocol";
import {
  attachmentsOf,
  type ChatAttachment,
  chatContent,
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

/**
 * Content of a user message.
 *
 * @param content - string or array of Responses content parts
 * @throws UntranslatableError for parts chat does not know
 */
export function userContent(content: unknown, path: string): string | readonly ChatPart[] {
  if (typeof content === "string") return content;
  return chatContent(readParts(content, path));
}

/** Content of a system or assistant message, which in chat is text only. */
export function textContent(content: unknown, path: string): string {
  if (typeof content === "string") return content;
  const parts = readParts(content, path);
  const index = parts.findIndex((part) => part.type !== "text");
  if (index === -1) return joinedText(parts);
  throw noCounterpart(
    "Anything but text in a message that is not the user's",
    `${path}[${index}].type`,
    "Send it in a user message.",
  );
}

/** The output of a tool. A chat tool message is text only; attachments are returned separately. */
export function toolOutput(
  output: unknown,
  path: string,
): { text: string; attachments: readonly ChatAttachment[] } {
  if (typeof output === "string") return { text: output, attachments: [] };
  const parts = readParts(output, path);
  return { text: joinedText(parts), attachments: attachmentsOf(parts) };
}

/** The text of a `content` or `summary` list of a reasoning item. */
export function reasoningTexts(parts: readonly unknown[], path: string): string[] {
  return parts.map((entry, index) => {
    const partPath = `${path}[${index}]`;
    return requiredString(objectAt(entry, partPath), "text", partPath);
  });
}

function readParts(content: unknown, path: string): ChatPart[] {
  if (!Array.isArray(content)) throw wrongType(path, "a string or an array of content parts");
  return content.map((entry, index) => {
    const partPath = `${path}[${index}]`;
    return readPart(objectAt(entry, partPath), partPath);
  });
}

function readPart(part: JsonObject, path: string): ChatPart {
  const type = requiredString(part, "type", path);
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: requiredString(part, "text", path) };
    // As text, because templates of model servers ignore chat's `refusal` field.
    case "refusal":
      return { type: "text", text: requiredString(part, "refusal", path) };
    case "input_image":
      return readImage(part, path);
    case "input_file":
      return readFile(part, path);
    case "input_audio":
      return readAudio(part, path);
    default:
      throw noCounterpart(
        `Content of type ${quoted(type)}`,
        `${path}.type`,
        "Send text, an image, a file or audio instead.",
      );
  }
}

function readImage(part: JsonObject, path: string): ChatAttachment {
  if (!isAbsent(part["file_id"])) {
    throw noCounterpart(
      "An image that is named by its file id",
      `${path}.file_id`,
      "Send it as image_url, with a data URL or an address.",
    );
  }
  const url = requiredString(part, "image_url", path);
  const detail = optionalString(part, "detail", path);
  return { type: "image_url", image_url: { url, detail } };
}

function readFile(part: JsonObject, path: string): ChatAttachment {
  if (!isAbsent(part["file_url"])) {
    throw noCounterpart(
      "A file that is named by its address",
      `${path}.file_url`,
      "Send its content as file_data.",
    );
  }
  const file = {
    file_data: optionalString(part, "file_data", path),
    filename: optionalString(part, "filename", path),
    file_id: optionalString(part, "file_id", path),
  };
  if (file.file_data === undefined && file.file_id === undefined) {
    throw wrongType(`${path}.file_data`, "a string");
  }
  return { type: "file", file };
}

function readAudio(part: JsonObject, path: string): ChatAttachment {
  const audioPath = `${path}.input_audio`;
  const audio = objectAt(part["input_audio"], audioPath);
  return {
    type: "input_audio",
    input_audio: {
      data: requiredString(audio, "data", audioPath),
      format: requiredString(audio, "format", audioPath),
    },
  };
}
