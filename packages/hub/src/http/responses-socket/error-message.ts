import type { HubError } from "../../errors.ts";
import { errorBody, retryHeaders } from "../error-response.ts";

/** lower-case names */
type Headers = Record<string, string>;

/**
 * An error of the hub, as a message. Nested and flat, because SDKs differ in which they read, with the headers that an
 * HTTP response would have had.
 */
export function errorMessage(error: HubError, headers: Headers): string {
  return render(error.status, errorBody(error).error, { ...retryHeaders(error), ...headers });
}

/**
 * A provider's refusal in its own words.
 *
 * @param body - JSON of OpenAI's shape
 */
export function refusalMessage(status: number, body: Buffer, headers: Headers): string {
  const { error } = JSON.parse(body.toString("utf8")) as { error: Record<string, unknown> };
  return render(status, error, headers);
}

function render(status: number, error: Record<string, unknown>, headers: Headers): string {
  const { code = "", message = "", param = "" } = error;
  return JSON.stringify({ type: "error", status, error, code, message, param, headers });
}
