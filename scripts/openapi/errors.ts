import { ERROR_STATUS, type ErrorCode, type ErrorShape } from "@roomhub/protocol";
import { schemaRef } from "./schemas.ts";

/** Errors that any request may get. */
const always: readonly ErrorCode[] = [
  "bad_request",
  "request_read_timeout",
  "uri_too_long",
  "tls_required",
  "headers_too_large",
  "internal_error",
];

/** Errors that a request with a body may get. */
export const bodyErrors: readonly ErrorCode[] = [
  "invalid_json",
  "missing_required_parameter",
  "invalid_type",
  "field_too_large",
  "request_too_large",
  "unsupported_content_encoding",
];

/** Errors that a request for a closed room may get. */
export const gateErrors: readonly ErrorCode[] = [
  "invalid_api_key",
  "key_revoked",
  "key_expired",
  "not_allowed",
  "too_many_attempts",
];

/** For paths and methods that are not in the document. */
export const errorsWithoutOperation: readonly ErrorCode[] = ["not_found", "method_not_allowed"];

/** Codes that occur in a stream, an event or a socket's message, and never with the status of a response. */
export const errorsWithoutStatus: readonly ErrorCode[] = [
  "client_disconnected",
  "client_stalled",
  "websocket_connection_limit_reached",
];

/** Errors that a request routed to a participant may get: every code with a stage. */
export const routedErrors: readonly ErrorCode[] = (Object.keys(ERROR_STATUS) as ErrorCode[]).filter(
  (code) => stageOf(code) !== undefined && !errorsWithoutStatus.includes(code),
);

/** Those of them that occur before a participant is called. */
export function isRoutingError(code: ErrorCode): boolean {
  return stageOf(code) === "routing";
}

/** One response per status; its description has the codes. */
export function errorResponses(
  codes: readonly ErrorCode[],
  shape: ErrorShape,
): Record<string, unknown> {
  const byStatus = Map.groupBy(new Set([...always, ...codes]), (code) => ERROR_STATUS[code].status);
  const statuses = [...byStatus].sort(([one], [other]) => one - other);
  return Object.fromEntries(
    statuses.map(([status, codesOfIt]) => [
      String(status),
      errorResponse(shape, codesOfIt.map((code) => `\`${code}\``).join(", ")),
    ]),
  );
}

/** OpenAPI 3.1 allows a description beside a reference, which then overrides the referenced one. */
export function errorResponse(shape: ErrorShape, description: string) {
  return { $ref: `#/components/responses/${responseNames[shape]}`, description };
}

const responseNames = { openai: "Error", anthropic: "AnthropicError" } as const;

/** `components.responses`: an error in either shape. */
export function errorResponseComponents() {
  const headers = Object.fromEntries(
    ["x-request-id", "retry-after", "x-should-retry"].map((name) => [name, headerRef(name)]),
  );
  return Object.fromEntries(
    Object.values(responseNames).map((name) => [
      name,
      {
        description: "An error",
        headers,
        content: { "application/json": { schema: { $ref: schemaRef(name) } } },
      },
    ]),
  );
}

export function headerRef(name: string) {
  return { $ref: `#/components/headers/${name}` };
}

function stageOf(code: ErrorCode) {
  return ERROR_STATUS[code].stage;
}
