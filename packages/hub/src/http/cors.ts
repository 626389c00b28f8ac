import { TOKEN_COUNT_HEADER, TRANSLATED_HEADER } from "@roomhub/protocol";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";

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
  TRANSLATED_HEADER,
  TOKEN_COUNT_HEADER,
  "x-ratelimit-limit-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-tokens",
].join(", ");

/** Interface §5: all origins; on errors and streams too, never with credentials. Contract §4. */
export const corsHeaders = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": exposed,
} as const;

/** Echoes the requested headers, because `*` does not cover `Authorization` and SDKs send their own `x-stainless-*`. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse): void {
  const requested = request.headers["access-control-request-headers"];
  const headers: OutgoingHttpHeaders = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE, OPTIONS",
    "access-control-allow-headers": requested ?? "authorization, content-type, x-participant-token",
    "access-control-max-age": "86400",
    vary: "Access-Control-Request-Headers",
  };
  response.writeHead(204, headers).end();
}
