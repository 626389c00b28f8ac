import { rememberLast } from "@roomhub/protocol";
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

/** What a request cannot have: its message would end elsewhere than it says. */
const notInTarget = /[^\u0021-\u00ff]/;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const notInValue = /[^\t\u0020-\u007e\u0080-\u00ff]/;

/** The heads of requests to one place, as text to be written in Latin-1. */
export class RequestHeads {
  readonly #common: (headers: Record<string, string>) => string;

  /** @param host - the place that gets the request */
  constructor(host: string) {
    this.#common = rememberLast((headers) => commonFields(host, headers));
  }

  /**
   * The caller's headers and our own framing, which no header may set: it decides where one request ends.
   *
   * @param isAlone - no other request follows on its connection
   * @throws TypeError for what cannot be written; the message names it without its value
   */
  of(
    request: Pick<ProviderRequest, "method" | "headers" | "body" | "bodyBytes">,
    path: string,
    isAlone: boolean,
  ): string {
    const { method, headers } = request;
    if (notInTarget.test(path)) throw new TypeError("its path has characters that a URL escapes");
    const connection = isAlone ? "close" : "keep-alive";
    return `${method} ${path} HTTP/1.1\r\n${this.#common(headers)}connection: ${connection}\r\n${framing(request)}\r\n`;
  }
}

function framing({ body, bodyBytes }: Pick<ProviderRequest, "body" | "bodyBytes">): string {
  if (body === undefined) return "";
  const length = body === "streamed" ? bodyBytes : lengthOf(body);
  return length === undefined ? "transfer-encoding: chunked\r\n" : `content-length: ${length}\r\n`;
}

function commonFields(host: string, headers: Readonly<Record<string, string>>): string {
  let fields = `Host: ${host}\r\naccept-encoding: identity\r\n`;
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || framingNames.has(name.toLowerCase())) continue;
    if (!token.test(name)) throw new TypeError("it has a header without a valid name");
    if (notInValue.test(value)) throw new TypeError(`its header ${name} has control characters`);
    fields += `${name}: ${value}\r\n`;
  }
  return fields;
}

export function lengthOf(parts: readonly Buffer[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}
