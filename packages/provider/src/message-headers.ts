import type { ProviderRequest } from "./provider-call.ts";

const framingNames = new Set([
  "host",
  "connection",
  "proxy-connection",
  "keep-alive",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "expect",
  "content-length",
  "accept-encoding",
]);

/**
 * The caller's headers and our own framing, which nobody else may set: it decides where one request ends.
 *
 * @param host - the place that is asked
 * @returns names and values in turn, which Node takes as they are; from a record it makes another first
 */
export function headersToSend(
  host: string,
  { headers, body }: Pick<ProviderRequest, "headers" | "body">,
): string[] {
  const sent = ["Host", host];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !framingNames.has(name.toLowerCase())) sent.push(name, value);
  }
  sent.push("accept-encoding", "identity");
  if (body === "streamed") sent.push("transfer-encoding", "chunked");
  else if (body !== undefined) sent.push("content-length", String(lengthOf(body)));
  return sent;
}

function lengthOf(parts: readonly Buffer[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** Of a repeated header the first. */
export function firstValues(rawHeaders: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? "";
    if (!Object.hasOwn(headers, name)) headers[name] = rawHeaders[index + 1] ?? "";
  }
  return headers;
}
