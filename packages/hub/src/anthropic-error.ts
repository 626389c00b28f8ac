import type { FailureStage, Refusal } from "@roomhub/protocol";

/** The content of an error. `code`, `stage`, `hint` and `participants` are additions of the hub. */
interface AnthropicErrorSource {
  message: string;
  status: number;
  code: string;
  stage?: FailureStage | undefined;
  hint?: string | undefined;
  participants?: readonly Refusal[] | undefined;
}

/** The body of an error response, and the data of an `error` event. */
export interface AnthropicErrorBody {
  type: "error";
  error: Omit<AnthropicErrorSource, "status"> & { type: string };
  request_id?: string | undefined;
}

/**
 * The type for a status, as in Anthropic's manual (docs.claude.com, API errors): other 4xx are
 * `invalid_request_error`. Anthropic's "overloaded" is 529 and the hub's is 503, so both map to it.
 */
export function anthropicErrorType(status: number): string {
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
 * An error in Anthropic's shape; the hub's additions are inside `error`.
 *
 * @param requestId - omitted when undefined; Anthropic's SDKs show it in error messages
 */
export function anthropicErrorBody(
  error: AnthropicErrorSource,
  requestId: string | undefined,
): AnthropicErrorBody {
  const { message, status, code, stage, hint, participants } = error;
  return {
    type: "error",
    error: {
      ...{ type: anthropicErrorType(status), message, code, stage, hint, participants },
    },
    request_id: requestId,
  };
}
