import {
  attachmentsOf,
  type ChatAttachment,
  chatContent,
  type ChatPart,
  joinedText,
} from "../../translation/chat/chat-message.ts";
import {
  eachOf,
  noCounterpart,
  type PlacedObject,
  quoted,
  wrongType,
} from "../../translation/placed-object.ts";

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

function readParts(content: unknown, path: string): ChatPart[] {
  if (!Array.isArray(content)) throw wrongType(path, "a string or an array of content parts");
  return eachOf(content, path, readPart);
}

function readPart(part: PlacedObject): ChatPart {
  const type = part.string("type");
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      return { type: "text", text: part.string("text") };
    // As text, because templates of model servers ignore chat's `refusal` field.
    case "refusal":
      return { type: "text", text: part.string("refusal") };
    case "input_image":
      return readImage(part);
    case "input_file":
      return readFile(part);
    case "input_audio": {
      const audio = part.object("input_audio");
      const input_audio = { data: audio.string("data"), format: audio.string("format") };
      return { type: "input_audio", input_audio };
    }
    default:
      throw noCounterpart(
        `Content of type ${quoted(type)}`,
        part.pathTo("type"),
        "Send text, an image, a file or audio instead.",
      );
  }
}

function readImage(part: PlacedObject): ChatAttachment {
  if (part.has("file_id")) {
    throw noCounterpart(
      "An image that is named by its file id",
      part.pathTo("file_id"),
      "Send it as image_url, with a data URL or an address.",
    );
  }
  const url = part.string("image_url");
  return { type: "image_url", image_url: { url, detail: part.optionalString("detail") } };
}

function readFile(part: PlacedObject): ChatAttachment {
  if (part.has("file_url")) {
    throw noCounterpart(
      "A file that is named by its address",
      part.pathTo("file_url"),
      "Send its content as file_data.",
    );
  }
  const file = {
    file_data: part.optionalString("file_data"),
    filename: part.optionalString("filename"),
    file_id: part.optionalString("file_id"),
  };
  if (file.file_data === undefined && file.file_id === undefined) {
    throw wrongType(part.pathTo("file_data"), "a string");
  }
  return { type: "file", file };
}
