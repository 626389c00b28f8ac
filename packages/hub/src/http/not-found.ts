import { SURFACES } from "@roomhub/protocol";
import { HubError } from "../errors.ts";

const surfacePaths = [...SURFACES.map((surface) => surface.path), "models"];
const surface = new RegExp(`(?<=/)(?:${surfacePaths.join("|")})(?=/|$)`, "g");
const roomInPath = /\/rooms\/([A-Za-z0-9]{6})(?=\/|$)/;

/** A 404 that says which URL was probably meant: most wrong base URLs are a missing or doubled segment. */
export function notFound(method: string, path: string, origin: string): HubError {
  const shown = path.slice(0, 200);
  return new HubError("not_found", `There is nothing at ${method} ${shown}.`, {
    hint: rightUrl(path, origin),
  });
}

function rightUrl(path: string, origin: string): string {
  const code = roomInPath.exec(path)?.[1]?.toUpperCase();
  // The last one named: the commonest mistake is a base URL that already ends in an operation.
  const last = [...path.matchAll(surface)].at(-1);
  const operation = last === undefined ? undefined : path.slice(last.index);
  if (code !== undefined && operation !== undefined)
    return `Use ${origin}/rooms/${code}/v1/${operation}`;
  if (code !== undefined) return `The base URL of this room is ${origin}/rooms/${code}/v1`;
  if (operation !== undefined) {
    return `The base URL must name a room: ${origin}/rooms/CODE/v1 (rooms: ${origin}/rooms)`;
  }
  return `Base URLs are ${origin}/rooms/CODE/v1; rooms are listed at ${origin}/rooms`;
}
