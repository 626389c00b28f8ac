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

/** The caller's headers and our own framing, which nobody else may set: it decides where one request ends. */
export function headersToSend({
  headers,
  body,
}: Pick<ProviderRequest, "headers" | "body">): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !framingNames.has(name.toLowerCase())) sent[name] = value;
  }
  sent["accept-encoding"] = "identity";
  if (body === "streamed") {
    sent["transfer-encoding"] = "chunked";
  } else if (body !== undefined) {
    sent["content-length"] = String(body.reduce((sum, part) => sum + part.length, 0));
  }
  return sent;
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
