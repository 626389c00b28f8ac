import type { JsonObject } from "@roomhub/protocol";
import {
  isAbsent,
  noCounterpart,
  objectAt,
  optionalBoolean,
  optionalObject,
  optionalString,
  quoted,
  requiredString,
} from "../../translation/read-field.ts";

type TextFormat =
  | { type: "text" }
  | { type: "json_object" }
  | {
      type: "json_schema";
      name: string;
      description: string | undefined;
      schema: JsonObject;
      strict: boolean | undefined;
    };

interface TextSettings {
  format: TextFormat;
  verbosity: string | undefined;
}

interface ChatTextSettings {
  response_format: object | undefined;
  verbosity: string | undefined;
}

/** `text` of a Responses request in chat's words: `response_format` and `verbosity`. Plain text is chat's default. */
export function translateText(body: JsonObject): ChatTextSettings {
  const { format, verbosity } = readText(body);
  switch (format.type) {
    case "text":
      return { response_format: undefined, verbosity };
    case "json_object":
      return { response_format: format, verbosity };
    case "json_schema": {
      const { type, ...schema } = format;
      return { response_format: { type, json_schema: schema }, verbosity };
    }
  }
}

/** `text` as a response object repeats it, every required key present. */
export function echoText(body: JsonObject): object {
  const { format, verbosity } = readText(body);
  const preference = verbosity === undefined ? {} : { verbosity };
  if (format.type !== "json_schema") return { format, ...preference };
  const { description = null, strict = false } = format;
  return { format: { ...format, description, strict }, ...preference };
}

function readText(body: JsonObject): TextSettings {
  const text = optionalObject(body, "text", "") ?? {};
  return { format: readFormat(text), verbosity: optionalString(text, "verbosity", "text") };
}

function readFormat(text: JsonObject): TextFormat {
  if (isAbsent(text["format"])) return { type: "text" };
  const path = "text.format";
  const format = objectAt(text["format"], path);
  const type = requiredString(format, "type", path);
  switch (type) {
    case "text":
    case "json_object":
      return { type };
    case "json_schema":
      return {
        type,
        name: requiredString(format, "name", path),
        description: optionalString(format, "description", path),
        schema: objectAt(format["schema"], `${path}.schema`),
        strict: optionalBoolean(format, "strict", path),
      };
    default:
      throw noCounterpart(
        `Text in the format ${quoted(type)}`,
        `${path}.type`,
        "Use text, json_object or json_schema.",
      );
  }
}
