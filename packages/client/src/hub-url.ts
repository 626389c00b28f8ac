import { normaliseRoomCode } from "@roomhub/protocol";

/** A text that names no hub or room. The message says what was given and what was expected. */
export class InvalidHubUrlError extends Error {
  override readonly name = "InvalidHubUrlError";
}

/** A hub and one of its rooms. */
export interface Invite {
  hubUrl: string;
  room: string;
}

const roomPath = /^(?<prefix>.*?)(?:\/v1)?\/rooms\/(?<room>[^/]+)(?:\/.*)?$/;

/**
 * A hub URL as people type it → the hub's own: no trailing slash, no `/v1`, no `/rooms/CODE`. A missing scheme means
 * `http://`; a path prefix before those (a hub behind a proxy) stays.
 *
 * @throws InvalidHubUrlError
 */
export function normaliseHubUrl(text: string): string {
  const url = parseUrl(text);
  const path = url.pathname.replace(/\/+$/, "");
  const prefix = roomPath.exec(path)?.groups?.["prefix"] ?? path.replace(/\/v1$/, "");
  return url.origin + prefix.replace(/\/+$/, "");
}

/**
 * What an invitation says: a bare room code, `{hub}/rooms/CODE` or `{hub}/rooms/CODE/v1` (and anything below it).
 *
 * @param defaultHubUrl - the hub of a bare code
 * @throws InvalidHubUrlError
 */
export function parseInvite(text: string, defaultHubUrl: string): Invite {
  const trimmed = text.trim();
  if (/^[A-Za-z0-9]{1,32}$/.test(trimmed)) {
    return { hubUrl: normaliseHubUrl(defaultHubUrl), room: normaliseRoomCode(trimmed) };
  }
  const room = roomPath.exec(parseUrl(trimmed).pathname)?.groups?.["room"];
  if (room === undefined || !/^[A-Za-z0-9]{1,32}$/.test(room)) {
    throw new InvalidHubUrlError(
      `"${trimmed}" names no room; give a room code or a URL like http://192.168.1.5:5050/rooms/ABC234`,
    );
  }
  return { hubUrl: normaliseHubUrl(trimmed), room: normaliseRoomCode(room) };
}

function parseUrl(text: string): URL {
  const trimmed = text.trim();
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`;
  let url: URL;
  try {
    url = new URL(withScheme);
  } catch {
    throw new InvalidHubUrlError(
      `"${trimmed}" is not a hub URL; write it like http://127.0.0.1:5050`,
    );
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new InvalidHubUrlError(
      `A hub URL begins with http:// or https://, not ${url.protocol} (given: "${trimmed}")`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidHubUrlError("A hub URL carries no user name or password");
  }
  return url;
}
