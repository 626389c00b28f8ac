import {
  ERROR_STATUS,
  errorTypeOf,
  type ErrorBody,
  type ErrorCode,
  type ErrorShape,
  rateLimitHeaders,
} from "@roomhub/protocol";
import type { ServerResponse } from "node:http";
import { anthropicErrorBody } from "../anthropic-error.ts";
import type { HubError } from "../errors.ts";
import { HOME_ELSEWHERE, PEER_HEADER } from "../hop/heads.ts";
import type { FlushingResponses } from "./flushing-responses.ts";
import { discardRest } from "./unread-rest.ts";

/** The body of an error on every surface except Anthropic's. Contract §6. */
export function errorBody(error: HubError): ErrorBody {
  const { message, status, param, code, stage, hint, participants } = error;
  return { error: { message, type: errorTypeOf(status), param, code, stage, hint, participants } };
}

const keyErrors = new Set<ErrorCode>(["invalid_api_key", "key_revoked", "key_expired"]);

/** The headers of an error, which tell an SDK whether to retry, and what is missing. Contract §6, "retry", and §9. */
export function errorHeaders(error: HubError): Record<string, string> {
  const retry = retryHeaders(error);
  // RFC 9110 §15.5.22: which protocol is required; a WebSocket's is named where it is refused.
  if (error.code === "tls_required") return { ...retry, upgrade: "TLS/1.2, HTTP/1.1" };
  return keyErrors.has(error.code)
    ? { ...retry, "www-authenticate": 'Bearer realm="roomhub"' }
    : retry;
}

function retryHeaders(error: HubError): Record<string, string> {
  const row = ERROR_STATUS[error.code];
  if (row.retry === "stop" || error.isFinal) return { "x-should-retry": "false" };
  if (row.retry !== "later") return {};
  const retryAfterMs = error.retryAfterMs ?? (row.retryAfterSeconds ?? 1) * 1000;
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const headers = { "retry-after": String(seconds) };
  if (error.limit === undefined) return headers;
  const { unit, limit } = error.limit;
  const resetMs = seconds * 1_000;
  return { ...headers, ...rateLimitHeaders(unit, { limit, remaining: 0, resetMs }) };
}

/** The one place where an error becomes a response. Only before the head is sent. */
export function sendError(
  response: ServerResponse,
  error: HubError,
  shape: ErrorShape,
  flushing: FlushingResponses,
  headers: Record<string, string> = {},
): void {
  const requestId = response.getHeader("x-request-id");
  const rendered =
    shape === "anthropic"
      ? anthropicErrorBody(error, typeof requestId === "string" ? requestId : undefined)
      : errorBody(error);
  const body = Buffer.from(JSON.stringify(rendered));
  const { req: request } = response;
  if (!request.complete) discardRest(flushing, request);
  response.writeHead(error.status, {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...errorHeaders(error),
    ...headers,
    // The connection of a client that was too slow is closed.
    ...(error.status === 408 ? { connection: "close" } : {}),
    "content-type": "application/json",
    "content-length": body.length,
  });
  response.end(body);
}

/** An error on a bare socket: the parser failed, or an upgrade was refused. */
export function rawError(error: HubError, requestId: string): string {
  const { tunnel, homeEpoch } = error;
  const body = JSON.stringify({ ...errorBody(error), tunnel, homeEpoch });
  const headers = Object.entries({ ...errorHeaders(error), "x-request-id": requestId });
  if (error.code === "home_elsewhere") headers.push([PEER_HEADER, HOME_ELSEWHERE]);
  return [
    `HTTP/1.1 ${error.status} ${error.code}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    "access-control-allow-origin: *",
    "cache-control: no-store",
    "connection: close",
    ...headers.map(([name, value]) => `${name}: ${value}`),
    "",
    body,
  ].join("\r\n");
}
