import type { FailureStage, Refusal } from "@roomhub/protocol";

/** The `type` of an error on Anthropic's surfaces. */
export type AnthropicErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "permission_error"
  | "not_found_error"
  | "request_too_large"
  | "rate_limit_error"
  | "api_error"
  | "overloaded_error";

/** What an error says, whoever made it. `code`, `stage`, `hint` and `participants` are the hub's additions. */
export interface AnthropicErrorSource {
  message: string;
  status: number;
  code: string;
  stage?: FailureStage | undefined;
  hint?: string | undefined;
  participants?: readonly Refusal[] | undefined;
}

/** The body of an error answer and the data of an `error` event alike. */
export interface AnthropicErrorBody {
  type: "error";
  error: Omit<AnthropicErrorSource, "status"> & { type: AnthropicErrorType };
  request_id?: string;
}

/**
 * Follows from the status, as Anthropic's manual has it (docs.claude.com, API errors): other 4xx are
 * `invalid_request_error`. Its "overloaded" is 529; a hub says 503 for the same, so both are.
 */
export function anthropicErrorType(status: number): AnthropicErrorType {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status >= 400 && status < 500 ? "invalid_request_error" : "api_error";
  }
}

/**
 * An error in Anthropic's shape: what its clients read comes first, what the hub adds stands inside `error` too.
 *
 * @param requestId - left out when undefined; Anthropic's clients show it to people who ask for help
 */
export function anthropicErrorBody(
  error: AnthropicErrorSource,
  requestId: string | undefined,
): AnthropicErrorBody {
  const { message, status, code, stage, hint, participants } = error;
  return {
    type: "error",
    error: {
      type: anthropicErrorType(status),
      message,
      code,
      ...(stage === undefined ? {} : { stage }),
      ...(hint === undefined ? {} : { hint }),
      ...(participants === undefined ? {} : { participants }),
    },
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
}
