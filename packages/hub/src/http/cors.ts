import type { IncomingMessage, ServerResponse } from "node:http";

const exposed = [
  "x-request-id",
  "request-id",
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
  "openai-processing-ms",
  "x-roomhub-participant",
  "x-roomhub-model",
  "x-roomhub-attempts",
  "x-roomhub-queue-ms",
  "x-ratelimit-limit-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-tokens",
].join(", ");

/** Interface §5: all origins; on errors and streams too, never with credentials. Contract §4. */
export function setCorsHeaders(response: ServerResponse): void {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", exposed);
}

/** Echoes the requested headers, because `*` does not cover `Authorization` and SDKs send their own `x-stainless-*`. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  setCorsHeaders(response);
  const requested = request.headers["access-control-request-headers"];
  response.setHeader("access-control-allow-methods", "GET, HEAD, POST, PUT, DELETE, OPTIONS");
  response.setHeader(
    "access-control-allow-headers",
    requested ?? "authorization, content-type, x-participant-token",
  );
  response.setHeader("access-control-max-age", "86400");
  response.setHeader("vary", "Access-Control-Request-Headers");
  response.writeHead(204).end();
}
