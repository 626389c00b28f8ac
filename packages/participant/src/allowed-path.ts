import { SURFACES } from "@roomhub/protocol";

/** One path segment that cannot climb: no slash, escaped or not, and not only dots. */
const id = "(?!\\.+$)[A-Za-z0-9._:@~-]{1,256}";
const modelId = "(?!\\.)(?:[A-Za-z0-9._:@~-]|%[0-9A-Fa-f]{2}){1,400}";
/** `limit`, `after`, `include[]`, `stream`, `starting_after` of a stored response. */
const query = "(?:\\?[A-Za-z0-9_=&%.,\\[\\]-]{0,512})?";

/** Contract §4: what a hub may ask of a participant. Whatever is not a row is refused. */
const allowed: readonly { method: string; path: RegExp }[] = [
  ...SURFACES.map((surface) => ({ method: "POST", path: new RegExp(`^/${surface.path}$`) })),
  { method: "GET", path: /^\/models$/ },
  { method: "GET", path: new RegExp(`^/models/${modelId}$`) },
  { method: "GET", path: new RegExp(`^/responses/${id}(?:/input_items)?${query}$`) },
  { method: "DELETE", path: new RegExp(`^/responses/${id}$`) },
  { method: "POST", path: new RegExp(`^/responses/${id}/cancel$`) },
];

/** Beside what the rows cannot match anyway: escapes a provider would decode into a climb. */
const climbing = /\.\.|%2e|%5c|%00|%25/i;

/**
 * Whether this participant serves a request line. Other people's hubs send them, so a path is taken only as it is
 * listed: no `..`, no absolute URL, a query only where a row has one.
 */
export function isAllowedRequest(method: string, path: string): boolean {
  // What comes after the question mark names no file.
  if (climbing.test(path.split("?", 1)[0] ?? "")) return false;
  return allowed.some((row) => row.method === method && row.path.test(path));
}
