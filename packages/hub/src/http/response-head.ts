import {
  type ErrorShape,
  MAY_TRUNCATE_HEADER,
  TOKEN_COUNT_HEADER,
  TRANSLATED_HEADER,
  type World,
} from "@roomhub/protocol";
import type { ServerResponse, IncomingMessage, OutgoingHttpHeaders } from "node:http";

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
  MAY_TRUNCATE_HEADER,
  "x-ratelimit-limit-requests",
  "x-ratelimit-limit-tokens",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-remaining-tokens",
  "x-ratelimit-reset-requests",
  "x-ratelimit-reset-tokens",
].join(", ");

/** Interface §5: all origins; on errors and streams too, never with credentials. Contract §4. */
const corsHeaders = {
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

/** Anthropic's SDKs send this header with every request, and read lists and errors in their own shape. */
export function clientShape({ headers }: IncomingMessage): ErrorShape {
  return headers["anthropic-version"] === undefined ? "openai" : "anthropic";
}

const corsPairs = Object.entries(corsHeaders).flat();

/** Adds the headers that every response has. Contract §4. */
export function setCommonHeaders(
  response: ServerResponse,
  requestId: string,
  errorShape: ErrorShape,
): void {
  for (const [name, value] of Object.entries(corsHeaders)) response.setHeader(name, value);
  response.setHeader("x-request-id", requestId);
  // Anthropic's SDKs read the id under this name.
  if (errorShape === "anthropic") response.setHeader("request-id", requestId);
}

/**
 * The same headers and more in one list, for the hot path: `node:http` takes a flat list as it is, and merges a map
 * with earlier headers at a multiple of the cost.
 *
 * @param headers - lower-case names; includes `x-request-id`
 */
export function headPairs(
  requestId: string,
  errorShape: ErrorShape,
  headers: Readonly<Record<string, string>>,
): string[] {
  const pairs = [...corsPairs];
  if (errorShape === "anthropic") pairs.push("request-id", requestId);
  for (const name in headers) pairs.push(name, headers[name] ?? "");
  return pairs;
}

const bytesPerId = 12;

/** `req_` and 24 hex digits. Random bytes are drawn for many ids at once, which costs less. */
export function createRequestIds(world: World): () => string {
  let pool = Buffer.alloc(0);
  let used = 0;
  return () => {
    if (used === pool.length) {
      pool = Buffer.from(world.randomBytes(bytesPerId * 256));
      used = 0;
    }
    used += bytesPerId;
    return `req_${pool.toString("hex", used - bytesPerId, used)}`;
  };
}
