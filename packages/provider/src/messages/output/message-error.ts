import type { ProviderError } from "../../translation/chat/provider-error.ts";

/** An error as Anthropic has it, in a body or in an `error` event. */
export interface MessageError {
  type: "error";
  error: { type: string; message: string };
}

/** The types that clients act on, by the code that a provider gave for them. docs.claude.com, API errors. */
const types: ReadonlyMap<string, string> = new Map([
  ["400", "invalid_request_error"],
  ["invalid_request_error", "invalid_request_error"],
  ["413", "request_too_large"],
  ["429", "rate_limit_error"],
  ["rate_limit_exceeded", "rate_limit_error"],
  ["503", "overloaded_error"],
  ["529", "overloaded_error"],
]);

export function messageError({ message, code, type }: ProviderError): MessageError {
  return {
    type: "error",
    error: { type: types.get(code) ?? types.get(type) ?? "api_error", message },
  };
}
