import { SURFACES } from "@roomhub/protocol";

/** One path segment that cannot climb: no slash, escaped or not, and not only dots. */
const id = "(?!\\.+$)[A-Za-z0-9._:@~-]{1,256}";
const modelId = "(?!\\.)(?:[A-Za-z0-9._:@~-]|%[0-9A-Fa-f]{2}){1,400}";

/** Contract §4: what a hub may ask of a participant. Whatever is not a row is refused. */
const allowed: readonly { method: string; path: RegExp }[] = [
  ...SURFACES.map((surface) => ({ method: "POST", path: new RegExp(`^/${surface.path}$`) })),
  { method: "POST", path: /^\/responses\/(?:input_tokens|compact)$/ },
  { method: "POST", path: /^\/messages(?:\/count_tokens)?$/ },
  { method: "GET", path: /^\/models$/ },
  { method: "GET", path: new RegExp(`^/models/${modelId}$`) },
  { method: "GET", path: new RegExp(`^/responses/${id}(?:/input_items)?$`) },
  { method: "DELETE", path: new RegExp(`^/responses/${id}$`) },
  { method: "POST", path: new RegExp(`^/responses/${id}/cancel$`) },
];

/** Beside what the rows cannot match anyway: escapes a provider would decode into a climb. */
const climbing = /\.\.|%2e|%5c|%00|%25/i;

/**
 * Whether this participant serves a request line. Other people's hubs send them, so a path is taken only as it is
 * listed: no query, no `..`, no absolute URL.
 */
export function isAllowedRequest(method: string, path: string): boolean {
  if (climbing.test(path)) return false;
  return allowed.some((row) => row.method === method && row.path.test(path));
}
