/** Header names in lower case → values, as both ends of a relay exchange them. */
export type HeaderMap = Record<string, string>;

const toProvider = [
  "accept",
  "openai-beta",
  "anthropic-version",
  "anthropic-beta",
  "idempotency-key",
  "x-client-request-id",
] as const;

const toClient = [
  "retry-after",
  "retry-after-ms",
  "openai-processing-ms",
  "openai-version",
  "openai-model",
  "x-should-retry",
] as const;

const sendableValue = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/;

/**
 * What of a client's headers a provider sees. Contract §4: never its `authorization` or cookies, which were meant for
 * somebody else or for nobody.
 *
 * @param headers - lower-case names, as node:http gives them
 */
export function forwardedToProvider(
  headers: Record<string, string | string[] | undefined>,
): HeaderMap {
  // Bodies are JSON whatever the client called them: curl says form data, fetch says plain text. Contract §1.
  const out: HeaderMap = { "content-type": "application/json" };
  for (const name of toProvider) {
    const value = headers[name];
    if (typeof value === "string" && sendableValue.test(value)) out[name] = value;
  }
  return out;
}

/** What of a provider's headers a client sees, besides the content type. Contract §4. */
export function forwardedToClient(headers: HeaderMap): HeaderMap {
  const out: HeaderMap = {};
  for (const name of toClient) {
    const value = headers[name];
    if (value !== undefined && sendableValue.test(value)) out[name] = value;
  }
  for (const [name, value] of Object.entries(headers)) {
    if (
      name.startsWith("x-ratelimit-") &&
      /^[a-z0-9-]{1,64}$/.test(name) &&
      sendableValue.test(value)
    ) {
      out[name] = value;
    }
  }
  return out;
}
