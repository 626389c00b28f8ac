import { isObject, type JsonObject } from "@roomhub/protocol";

/** Checks of received JSON. Each throws a `MalformedPayload`; the caller decides whether it closes the stream or the tunnel. */
export class MalformedPayload extends Error {
  override readonly name = "MalformedPayload";
}

const MAX_HEADERS = 200;
/** RFC 9110 §5.6.2, token. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters that `node:http` refuses in a header value. */
// oxlint-disable-next-line no-control-regex -- a tab is a control character and allowed there
const NOT_HEADER_VALUE = /[^\t\u0020-\u007e\u0080-\u00ff]/;

export function readObject(bytes: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch (cause) {
    throw new MalformedPayload("not JSON", { cause });
  }
  if (!isObject(value)) throw new MalformedPayload("not a JSON object");
  return value;
}

export function integerField(object: JsonObject, key: string, min: number, max: number): number {
  const value = object[key];
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    throw new MalformedPayload(`"${key}" is not an integer from ${min} to ${max}`);
  }
  return value;
}

export function optionalIntegerField(
  object: JsonObject,
  key: string,
  min: number,
  max: number,
): number | undefined {
  return object[key] === undefined ? undefined : integerField(object, key, min, max);
}

export function booleanField(object: JsonObject, key: string): boolean {
  const value = object[key];
  if (typeof value !== "boolean") throw new MalformedPayload(`"${key}" is not a boolean`);
  return value;
}

export function optionalBooleanField(object: JsonObject, key: string): boolean | undefined {
  return object[key] === undefined ? undefined : booleanField(object, key);
}

export function textField(object: JsonObject, key: string): string {
  const value = object[key];
  if (typeof value !== "string") throw new MalformedPayload(`"${key}" is not a string`);
  return value;
}

export function optionalTextField(object: JsonObject, key: string): string | undefined {
  return object[key] === undefined ? undefined : textField(object, key);
}

export function optionalObjectField(object: JsonObject, key: string): JsonObject | undefined {
  const value = object[key];
  if (value !== undefined && !isObject(value))
    throw new MalformedPayload(`"${key}" is not an object`);
  return value;
}

export function optionalTextsField(
  object: JsonObject,
  key: string,
  maxCount: number,
): string[] | undefined {
  const value = object[key];
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || !value.every((text) => typeof text === "string")) {
    throw new MalformedPayload(`"${key}" is not a list of strings`);
  }
  if (value.length > maxCount) throw new MalformedPayload(`"${key}" has more than ${maxCount}`);
  return value;
}

export function optionalTextMapField(
  object: JsonObject,
  key: string,
): Record<string, string> | undefined {
  const value = optionalObjectField(object, key);
  if (value === undefined) return undefined;
  for (const name of Object.keys(value)) {
    if (name === "__proto__") throw new MalformedPayload(`"${key}" has the key __proto__`);
    if (typeof value[name] !== "string") {
      throw new MalformedPayload(`"${key}" has a value that is not a string`);
    }
  }
  return value as Record<string, string>;
}

/** A text map that `node:http` accepts as headers. */
export function headersField(object: JsonObject): Record<string, string> {
  const headers = optionalTextMapField(object, "headers");
  if (headers === undefined) throw new MalformedPayload('"headers" is not an object');
  const names = Object.keys(headers);
  if (names.length > MAX_HEADERS) throw new MalformedPayload(`${names.length} headers`);
  for (const name of names) {
    if (!HEADER_NAME.test(name)) throw new MalformedPayload("a header name is not a token");
    if (NOT_HEADER_VALUE.test(headers[name] ?? "")) {
      throw new MalformedPayload(`header ${name} has a character that headers cannot contain`);
    }
  }
  return headers;
}
