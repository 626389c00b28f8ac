import {
  ClientIdentity,
  forwardResponseHeaders,
  rememberLast,
  SURFACES,
  authHeaderProblem,
  forwardRequestHeaders,
} from "@roomhub/protocol";
import type { ResponseHead } from "@roomhub/provider";
import type { IncomingRequest } from "@roomhub/tunnel";

type Head = IncomingRequest["head"];

/** Checks and maps the heads of requests and responses. Results are reused while heads repeat. */
export interface RequestHeads {
  isAllowed(head: Head): boolean;
  /** Who sends the request; undefined from a hub that does not report it. */
  clientOf(head: Head): ClientIdentity | undefined;
  toProvider(fromHub: Head["headers"]): Record<string, string>;
  toHub(fromProvider: ResponseHead["headers"]): Record<string, string>;
}

/** @param localHeaders - credentials that must not reach the hub, lower-case names */
export function createRequestHeads(localHeaders: Readonly<Record<string, string>>): RequestHeads {
  return {
    isAllowed: rememberLast(({ method, path }) => isAllowedRequest(method, path)),
    clientOf: rememberLast(({ client }) => ClientIdentity.safeParse(client).data),
    toProvider: rememberLast((fromHub) => providerHeaders(fromHub, localHeaders)),
    toHub: rememberLast(forwardResponseHeaders),
  };
}

/** One path segment without traversal: no slash, escaped or not, and not only dots. */
const id = "(?!\\.+$)[A-Za-z0-9._:@~-]{1,256}";
const modelId = "(?!\\.)(?:[A-Za-z0-9._:@~-]|%[0-9A-Fa-f]{2}){1,400}";
/** `limit`, `after`, `include[]`, `stream`, `starting_after` of a stored response. */
const query = "(?:\\?[A-Za-z0-9_=&%.,\\[\\]-]{0,512})?";

/** Contract §4: the requests a hub may send to a participant. All others are refused. */
const allowed: readonly { method: string; path: RegExp }[] = [
  ...SURFACES.map((surface) => ({ method: "POST", path: new RegExp(`^/${surface.path}$`) })),
  { method: "GET", path: /^\/models$/ },
  { method: "GET", path: new RegExp(`^/models/${modelId}$`) },
  { method: "GET", path: new RegExp(`^/responses/${id}(?:/input_items)?${query}$`) },
  { method: "DELETE", path: new RegExp(`^/responses/${id}$`) },
  { method: "POST", path: new RegExp(`^/responses/${id}/cancel$`) },
];

/** Escapes that a provider would decode into path traversal. */
const traversal = /\.\.|%2e|%5c|%00|%25/i;

/**
 * Whether this participant serves a request line. The hub is not trusted, so only listed paths are accepted: no `..`, no
 * absolute URL, a query only where a row allows one.
 */
export function isAllowedRequest(method: string, path: string): boolean {
  // A query names no file.
  if (traversal.test(path.split("?", 1)[0] ?? "")) return false;
  return allowed.some((row) => row.method === method && row.path.test(path));
}

const hopHeader = "x-roomhub-hop";
const maxHopLength = 512;

/**
 * The headers of a provider call: the forwarded request headers, the participant's auth headers from the hub, the hop
 * header against loops, and the local credentials. Contract §3 and §4.
 *
 * @param local - override all others; never sent to the hub
 */
export function providerHeaders(
  fromHub: Readonly<Record<string, string>>,
  local: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers = forwardRequestHeaders(fromHub);
  for (const [name, value] of Object.entries(fromHub)) {
    const lower = name.toLowerCase();
    if (lower === hopHeader) {
      if (/^[\x20-\x7e]+$/.test(value) && value.length <= maxHopLength) headers[lower] = value;
    } else if (authHeaderProblem(lower, value) === undefined) {
      headers[lower] = value;
    }
  }
  for (const [name, value] of Object.entries(local)) headers[name.toLowerCase()] = value;
  return headers;
}
