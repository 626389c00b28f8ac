import { noCounterpart, type PlacedObject, quoted } from "../../translation/placed-object.ts";

/** `text` of a Responses request in chat's words: `response_format` and `verbosity`. Plain text is chat's default. */
export function translateText(body: PlacedObject) {
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
export function echoText(body: PlacedObject): object {
  const { format, verbosity } = readText(body);
  const preference = verbosity === undefined ? {} : { verbosity };
  if (format.type !== "json_schema") return { format, ...preference };
  const { description = null, strict = false } = format;
  return { format: { ...format, description, strict }, ...preference };
}

function readText(body: PlacedObject) {
  const text = body.objectOrEmpty("text");
  return { format: readFormat(text), verbosity: text.optionalString("verbosity") };
}

function readFormat(text: PlacedObject) {
  const format = text.optionalObject("format");
  if (format === undefined) return { type: "text" } as const;
  const type = format.string("type");
  switch (type) {
    case "text":
    case "json_object":
      return { type } as const;
    case "json_schema":
      return {
        type,
        name: format.string("name"),
        description: format.optionalString("description"),
        schema: format.object("schema").value,
        strict: format.optionalBoolean("strict"),
      } as const;
    default:
      throw noCounterpart(
        `Text in the format ${quoted(type)}`,
        format.pathTo("type"),
        "Use text, json_object or json_schema.",
      );
  }
}
