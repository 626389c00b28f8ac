import { normaliseRoomCode, percentDecoded, pinText, withTls } from "@roomhub/protocol";

/** The text is not a valid hub URL or invitation. The message contains the text and what is expected. */
export class InvalidHubUrlError extends Error {
  override readonly name = "InvalidHubUrlError";
}

/** A hub and one of its rooms, without a key. */
export interface Invite {
  hubUrl: string;
  room: string;
}

const codeGrammar = /^[A-Za-z0-9]{1,32}$/;
const roomPath = /^(?<prefix>.*?)(?:\/v1)?\/rooms\/(?<room>[^/]+)(?:\/.*)?$/;

/**
 * Normalises a hub URL: removes quotes, a trailing slash, `/v1` and what follows it, and `/rooms/CODE`. A missing scheme
 * means `http://`; a path prefix (a hub behind a proxy) is kept. With a pin the scheme is `https://`.
 *
 * @throws InvalidHubUrlError
 */
export function normaliseHubUrl(text: string): string {
  const url = parseUrl(text);
  if (pinIn(text) !== undefined) url.protocol = "https:";
  const path = url.pathname.replace(/\/+$/, "");
  const prefix =
    roomPath.exec(path)?.groups?.["prefix"] ?? path.replace(/\/(?:v1(?:\/.*)?|monitor)$/, "");
  return url.origin + prefix.replace(/\/+$/, "");
}

/**
 * Parses an invitation: a bare room code, `{hub}/rooms/CODE` or `{hub}/rooms/CODE/v1` (and anything below it), or the
 * page that watches the room, `{hub}/monitor/?room=CODE`. A fragment is left out.
 *
 * @param defaultHubUrl - the hub for a bare code
 * @throws InvalidHubUrlError
 */
export function parseInvite(text: string, defaultHubUrl: string): Invite {
  const bare = withoutQuotes(text);
  if (codeGrammar.test(bare)) {
    return { hubUrl: normaliseHubUrl(defaultHubUrl), room: normaliseRoomCode(bare) };
  }
  if (!/[./:]/.test(bare)) throw noRoom(bare);
  const url = parseUrl(bare);
  const segment = roomPath.exec(url.pathname)?.groups?.["room"] ?? watchedRoom(url);
  const room = segment === undefined ? undefined : withoutQuotes(percentDecoded(segment));
  if (room === undefined || !codeGrammar.test(room)) throw noRoomIn(bare, url, room);
  return { hubUrl: normaliseHubUrl(text), room: normaliseRoomCode(room) };
}

/** The key in the fragment of a link, `#key=rhk_…`: fragments are sent to no server. */
export function keyInLink(text: string): string | undefined {
  return /#(?:.*&)?key=(rhk_[\w-]+)/.exec(text)?.[1];
}

/**
 * The key of a hub in the fragment of its invite, `#pin=sha256-…`: the SHA-256 of its public key (SPKI, DER) in base64url.
 *
 * @throws InvalidHubUrlError for a pin that is cut short: without it the connection would not be as safe as the invite says
 */
export function pinIn(text: string): string | undefined {
  const given = pinText(text);
  if (given === undefined) return undefined;
  const pin = /^sha256-[\w-]{43}(?![\w-])/.exec(given)?.[0];
  if (pin !== undefined) return pin;
  throw new InvalidHubUrlError(
    "The pin in this invite is not complete: it is sha256- and 43 characters; copy the whole invite",
  );
}

/** Where a pin belongs: host and port. A pin means TLS, whatever the scheme of the URL. */
export function pinnedHostOf(url: string): string {
  return new URL(withTls(url)).host;
}

function watchedRoom({ pathname, searchParams }: URL): string | undefined {
  return /\/monitor\/?$/.test(pathname) ? (searchParams.get("room") ?? undefined) : undefined;
}

function noRoom(text: string): InvalidHubUrlError {
  return new InvalidHubUrlError(
    `"${text}" is not a room code; give a code like ABC234 or a room URL`,
  );
}

function noRoomIn(text: string, url: URL, room: string | undefined): InvalidHubUrlError {
  if (room !== undefined) return noRoom(room);
  const last = url.pathname.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const example = /^[A-Za-z0-9]{6}$/.test(last)
    ? `${url.origin}/rooms/${last.toUpperCase()}`
    : "http://192.168.1.5:5050/rooms/ABC234";
  return new InvalidHubUrlError(
    `"${text}" is not a room URL; give a room code or a URL like ${example}`,
  );
}

/**
 * Removes what is often pasted along with a URL: spaces, quotes, angle brackets, a full stop. A fragment too: it may contain
 * a key, which no message may repeat.
 */
function withoutQuotes(text: string): string {
  return text.replace(/#.*$/s, "").replace(/^[\s"'`‘’“”<]+|[\s"'`‘’“”>,;.]+$/gu, "");
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
      `A hub URL starts with http:// or https://, not ${url.protocol} (given: "${trimmed}")`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new InvalidHubUrlError("A hub URL must not contain a user name or password");
  }
  return url;
}
