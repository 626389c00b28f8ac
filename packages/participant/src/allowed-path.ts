import { SURFACES } from "@roomhub/protocol";

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
