import { fieldsOf, textOf } from "./provider-field.ts";
import { isObject } from "../read-field.ts";

/** A failure in the provider's own words, ready for an error event: no key is ever null (contract §6). */
export interface ProviderError {
  message: string;
  type: string;
  param: string;
  code: string;
}

/**
 * The error a chat stream may carry in place of a chunk: `{"error": {…}}`, `{"error": "text"}`, vLLM's
 * `{"object": "error", "message": …}`, or anything in an `event: error`.
 *
 * @returns undefined when the value is no error
 */
export function providerErrorIn(
  value: unknown,
  eventName: string | undefined,
): ProviderError | undefined {
  const { error, object } = fieldsOf(value);
  if (isObject(error) || textOf(error) !== "") return errorOf(error);
  return eventName === "error" || object === "error" ? errorOf(value) : undefined;
}

function errorOf(field: unknown): ProviderError {
  const fields = fieldsOf(field);
  return {
    message:
      textOf(field) || word(fields["message"]) || "The provider reported an error in its stream.",
    type: word(fields["type"]) || "server_error",
    param: word(fields["param"]),
    code: word(fields["code"]) || "provider_error",
  };
}

/** Some servers put the HTTP status where the code belongs. */
function word(value: unknown): string {
  return typeof value === "number" ? String(value) : textOf(value);
}
