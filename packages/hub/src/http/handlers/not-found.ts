import { SURFACES } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";

const surfacePaths = [...SURFACES.map((surface) => surface.path), "models"];
const surface = new RegExp(`(?<=/)(?:${surfacePaths.join("|")})(?=/|$)`, "g");
/** The base URL is right, unless it ends in `v1` twice. */
const belowBaseUrl = /^\/rooms\/[A-Za-z0-9]{6}\/v1\/(?!v1(?:\/|$))./;
/** Quotes, spaces or a comma may be pasted along, or a `v1` that a program adds. */
const roomInPath = /\/rooms\/[^/A-Za-z0-9]*([A-Za-z0-9]{6})(?:v1)?[^/A-Za-z0-9]*(?=\/|$)/;
/** The program adds `v1` to its base URL, as Anthropic's SDKs do; some add it without a slash. */
const addedV1 = /\/v1\/?v1\/|\/rooms\/[A-Za-z0-9]{6}v1\//;
const batches = /^\/(?:files|batches)(?=\/|$)/;

/** Where the request came in, and the room it may have meant. */
export interface AskedAt {
  /** as the client knows the hub */
  origin: string;
  /** The code of the only room; undefined when there are several, or none. */
  onlyRoom: string | undefined;
}

/**
 * A 404 that says which URL was probably meant: most wrong base URLs are a missing or doubled segment.
 *
 * @param path - percent-encoded, and well so
 */
export function notFound(method: string, path: string, at: AskedAt): HubError {
  const shown = path.slice(0, 200);
  return new HubError("not_found", `There is nothing at ${method} ${shown}.`, {
    hint: rightUrl(decodeURIComponent(path), at),
  });
}

function rightUrl(path: string, { origin, onlyRoom }: AskedAt): string {
  const code = roomInPath.exec(path)?.[1]?.toUpperCase();
  // The last operation counts: the commonest mistake is a base URL that already ends in one.
  const last = [...path.matchAll(surface)].at(-1);
  const operation = last === undefined ? undefined : path.slice(last.index);
  if (code !== undefined && operation !== undefined) {
    const meant = `/rooms/${code}/v1/${operation}`;
    // The same as the requested path when something unknown follows the operation.
    if (meant !== path) {
      const base = `${origin}/rooms/${code}/`;
      const forAdding = addedV1.test(path) ? `, or ${base} for a program that adds v1 itself` : "";
      return `Use ${origin}${encodeURI(meant)} (base URL: ${base}v1${forAdding})`;
    }
  }
  if (belowBaseUrl.test(path)) {
    if (code !== undefined && batches.test(path.slice(`/rooms/${code}/v1`.length))) {
      return `Files and batches have a base URL of their own: roomhub batch serve --room ${origin}/rooms/${code}`;
    }
    return `A room relays ${surfacePaths.join(", ")}; send other requests to the model server itself`;
  }
  if (code !== undefined) return `The base URL of this room is ${origin}/rooms/${code}/v1`;
  if (onlyRoom !== undefined) {
    return `The base URL must name a room; the one here is ${origin}/rooms/${onlyRoom}/v1`;
  }
  if (operation !== undefined) {
    return `The base URL must name a room: ${origin}/rooms/CODE/v1 (rooms: ${origin}/rooms)`;
  }
  return `Base URLs are ${origin}/rooms/CODE/v1; rooms are listed at ${origin}/rooms`;
}
