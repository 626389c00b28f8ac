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

const codeGrammar = /^[A-Za-z0-9]{1,32}$/;
const roomPath = /^(?<prefix>.*?)(?:\/v1)?\/rooms\/(?<room>[^/]+)(?:\/.*)?$/;

/**
 * A hub URL as people type it → the hub's own: no trailing slash, no `/v1` and what follows it, no `/rooms/CODE`, no
 * quotes around it. A missing scheme means `http://`; a path prefix before those (a hub behind a proxy) stays.
 *
 * @throws InvalidHubUrlError
 */
export function normaliseHubUrl(text: string): string {
  const url = parseUrl(text);
  const path = url.pathname.replace(/\/+$/, "");
  const prefix = roomPath.exec(path)?.groups?.["prefix"] ?? path.replace(/\/v1(?:\/.*)?$/, "");
  return url.origin + prefix.replace(/\/+$/, "");
}

/**
 * What an invitation says: a bare room code, `{hub}/rooms/CODE` or `{hub}/rooms/CODE/v1` (and anything below it).
 *
 * @param defaultHubUrl - the hub of a bare code
 * @throws InvalidHubUrlError
 */
export function parseInvite(text: string, defaultHubUrl: string): Invite {
  const bare = withoutQuotes(text);
  if (codeGrammar.test(bare)) {
    return { hubUrl: normaliseHubUrl(defaultHubUrl), room: normaliseRoomCode(bare) };
  }
  if (!/[./:]/.test(bare)) throw noRoom(bare);
  const url = parseUrl(bare);
  const segment = roomPath.exec(url.pathname)?.groups?.["room"];
  const room = segment === undefined ? undefined : withoutQuotes(decoded(segment));
  if (room === undefined || !codeGrammar.test(room)) throw noRoomIn(bare, url, room);
  return { hubUrl: normaliseHubUrl(bare), room: normaliseRoomCode(room) };
}

function noRoom(text: string): InvalidHubUrlError {
  return new InvalidHubUrlError(
    `"${text}" is no room code; a room is named by its code, like ABC234, or its URL (roomhub room list shows both name and code)`,
  );
}

function noRoomIn(text: string, url: URL, room: string | undefined): InvalidHubUrlError {
  if (room !== undefined) return noRoom(room);
  const last = url.pathname.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const example = /^[A-Za-z0-9]{6}$/.test(last)
    ? `${url.origin}/rooms/${last.toUpperCase()}`
    : "http://192.168.1.5:5050/rooms/ABC234";
  return new InvalidHubUrlError(
    `"${text}" names no room; give a room code or a URL like ${example}`,
  );
}

/** What is pasted along with a URL: spaces, quotes, the brackets of a mail, the full stop of a sentence. */
function withoutQuotes(text: string): string {
  return text.replace(/^[\s"'`‘’“”<]+|[\s"'`‘’“”>,;.]+$/gu, "");
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A lone % is no code either way.
    return segment;
  }
}

function parseUrl(text: string): URL {
  const trimmed = withoutQuotes(text);
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
