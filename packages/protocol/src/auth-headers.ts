import { z } from "zod";
import { isObject } from "./json-object.ts";

/** Names reserved for the connection or the hub, and names that are unsafe as object keys. */
const refusedNames = new Set([
  "host",
  "connection",
  "proxy-connection",
  "keep-alive",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "content-length",
  "content-type",
  "content-encoding",
  "accept-encoding",
  "expect",
  "cookie2",
  "x-roomhub-hop",
  "__proto__",
  "constructor",
  "prototype",
]);
const refusedBeginnings = ["proxy-", "sec-", ":"];
const tokenName = /^[A-Za-z0-9!#$%&'*+.^_|~-]{1,64}$/;
const latin1Value = /^[\x20-\x7e\xa0-\xff]{1,4096}$/;

/**
 * Why a header may not be sent to a provider, or undefined when it may.
 *
 * @returns a sentence that names the header and never its value
 */
export function authHeaderProblem(name: string, value: unknown): string | undefined {
  if (!tokenName.test(name)) return "a header name must be an HTTP token of 1 to 64 characters";
  const lower = name.toLowerCase();
  if (refusedNames.has(lower) || refusedBeginnings.some((start) => lower.startsWith(start))) {
    return `the header ${lower} is set by the connection`;
  }
  if (typeof value !== "string") return `the value of ${lower} must be a string`;
  if (!latin1Value.test(value) || value.trim() === "") {
    return `the value of ${lower} must be 1 to 4096 printable Latin-1 characters on one line`;
  }
  return undefined;
}

/**
 * Schema of header names and values; names are lower-cased. Contract §6.
 *
 * @param maxHeaders - number of headers
 * @param maxBytes - all names and values together
 */
export function authHeadersSchema(maxHeaders: number, maxBytes: number) {
  const object = z.custom<Record<string, string>>().meta({
    type: "object",
    maxProperties: maxHeaders,
    additionalProperties: { type: "string" },
  });
  return object.transform((input: unknown, context) => {
    const fail = (name: string | undefined, message: string) => {
      context.addIssue({ code: "custom", message, path: name === undefined ? [] : [name] });
      return z.NEVER;
    };
    if (!isObject(input)) {
      return fail(undefined, "authHeaders must be an object of header name to header value");
    }
    const entries = Object.entries(input);
    if (entries.length > maxHeaders) {
      return fail(undefined, `authHeaders may hold at most ${maxHeaders} headers`);
    }
    const headers = new Map<string, string>();
    let bytes = 0;
    for (const [name, value] of entries) {
      const problem = authHeaderProblem(name, value);
      if (problem !== undefined) return fail(name, problem);
      const lower = name.toLowerCase();
      if (headers.has(lower)) return fail(name, `the header ${lower} appears twice`);
      headers.set(lower, (value as string).trim());
      bytes += name.length + (value as string).length;
    }
    if (bytes > maxBytes) {
      return fail(undefined, `authHeaders may hold at most ${maxBytes} bytes`);
    }
    return Object.fromEntries(headers);
  });
}
