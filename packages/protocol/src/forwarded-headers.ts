/** Headers as `node:http` provides them: lower-case names, repeated ones as arrays. */
export type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Headers by which clients name a conversation. Contract §3, "Conversations": the hub goes by the first that there is, and
 * routers behind a participant do the same.
 */
export const SESSION_HEADERS = [
  "x-session-id",
  "session-id",
  "session_id",
  "x-claude-code-session-id",
  "x-session-affinity",
  "x-opencode-session",
  "x-openwebui-chat-id",
] as const;

const forwardedRequestNames = [
  "content-type",
  "accept",
  "openai-beta",
  "anthropic-version",
  "anthropic-beta",
  "idempotency-key",
  "x-client-request-id",
  ...SESSION_HEADERS,
] as const;

/** On responses that were made from chat completions: `chat`. */
export const TRANSLATED_HEADER = "x-roomhub-translated";

/** How tokens were counted, where no tokenizer did: `estimate`. */
export const TOKEN_COUNT_HEADER = "x-roomhub-token-count";

/** In requests: the features that a model must have, as words separated by commas. It is never forwarded. */
export const REQUIRE_HEADER = "x-roomhub-require";

/** In requests: `batch` for one that others come before, else `interactive`. It is never forwarded. */
export const PRIORITY_HEADER = "x-roomhub-priority";

/** `true`: the prompt may be longer than the context of a model server that cuts it without saying so. */
export const MAY_TRUNCATE_HEADER = "x-roomhub-may-truncate";

const forwardedResponseNames = new Set<string>([
  "content-type",
  "retry-after",
  "retry-after-ms",
  "openai-processing-ms",
  "openai-version",
  "openai-model",
  "x-should-retry",
  TRANSLATED_HEADER,
  TOKEN_COUNT_HEADER,
]);
const rateLimitPrefix = "x-ratelimit-";
const maxResponseHeaders = 32;
const maxResponseValueLength = 1_024;

/** What `node:http` can write: anything else would throw in the middle of a response. */
const writableName = /^[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const writableValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The client's headers that are forwarded to a provider. Contract §4.
 *
 * `authorization` and cookies are not forwarded: a client's key is not for the provider.
 */
export function forwardRequestHeaders(headers: IncomingHeaders): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of forwardedRequestNames) {
    const value = firstValue(headers[name]);
    if (value !== undefined && writableValue.test(value)) forwarded[name] = value;
  }
  return forwarded;
}

/**
 * The provider's headers that are forwarded to a client. Contract §4. At most 32, values up to 1 KiB; headers that
 * `node:http` cannot write are dropped.
 */
export function forwardResponseHeaders(headers: IncomingHeaders): Record<string, string> {
  const forwarded: Record<string, string> = {};
  let count = 0;
  for (const name in headers) {
    if (!forwardedResponseNames.has(name) && !name.startsWith(rateLimitPrefix)) continue;
    const value = firstValue(headers[name]);
    if (value === undefined || value.length > maxResponseValueLength) continue;
    if (!writableName.test(name) || !writableValue.test(value)) continue;
    if (++count > maxResponseHeaders) break;
    forwarded[name] = value;
  }
  return forwarded;
}

function firstValue(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : value[0];
}
