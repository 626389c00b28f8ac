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

/** The headers of requests to one place, as Node takes them without a copy: names and values in turn. */
export class RequestHeaders {
  readonly #common: (headers: Record<string, string>) => readonly string[];

  /** @param host - the place that gets the request */
  constructor(host: string) {
    this.#common = rememberLast((headers) => commonHeaders(host, headers));
  }

  /** The caller's headers and our own framing, which no header may set: it decides where one request ends. */
  of({ headers, body }: Pick<ProviderRequest, "headers" | "body">): string[] {
    const sent = [...this.#common(headers)];
    if (body === "streamed") sent.push("transfer-encoding", "chunked");
    else if (body !== undefined) sent.push("content-length", String(lengthOf(body)));
    return sent;
  }
}

function commonHeaders(host: string, headers: Readonly<Record<string, string>>): string[] {
  const sent = ["Host", host, "accept-encoding", "identity"];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !framingNames.has(name.toLowerCase())) sent.push(name, value);
  }
  return sent;
}

function lengthOf(parts: readonly Buffer[]): number {
  let length = 0;
  for (const part of parts) length += part.length;
  return length;
}

/** The headers of a server's responses. They are often those of the one before, and then the same record. */
export class ResponseHeaders {
  #raw: readonly string[] = [];
  #made: Readonly<Record<string, string>> = {};

  /** @param raw - names and values in turn. @returns lower-case names; of a repeated header the first */
  of(raw: readonly string[]): Readonly<Record<string, string>> {
    if (!isSameList(raw, this.#raw)) {
      this.#raw = raw;
      this.#made = Object.freeze(firstValues(raw));
    }
    return this.#made;
  }
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) {
    if (one[index] !== other[index]) return false;
  }
  return true;
}

function firstValues(raw: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index]?.toLowerCase() ?? "";
    if (!Object.hasOwn(headers, name)) headers[name] = raw[index + 1] ?? "";
  }
  return headers;
}
