import { isObject, type JsonObject } from "@roomhub/protocol";

const noFields: JsonObject = {};

/**
 * Fields of a provider's response. Servers leave out and add fields, so a missing one, or one of another type, reads as
 * empty and is no error.
 */
export function fieldsOf(value: unknown): JsonObject {
  return isObject(value) ? value : noFields;
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
