import type { IncomingMessage } from "node:http";

/** What concerns one connection alone, RFC 9110 §7.6.1. */
const perConnection = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade",
]);

/**
 * What one hub tells another of a client, and a home that it is none any more. Of what a client or a model server sends,
 * nothing passes under that name.
 */
export const PEER_HEADER = "x-roomhub-peer";

/** Value of {@link PEER_HEADER} in a refusal: the room has another home. A model server's own 421 is a response. */
export const HOME_ELSEWHERE = "home-elsewhere";

export function isHomeElsewhere({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return headers[PEER_HEADER] === HOME_ELSEWHERE;
}

/**
 * The header fields that pass to the next connection, names and values in turn. Framing is not among them: it is made
 * anew from the parsed message, so that both ends read the same.
 *
 * @param rawHeaders - names and values in turn, as they came
 */
export function passingHeaders(rawHeaders: readonly string[]): string[] {
  const named = namedByConnection(rawHeaders);
  const passing: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    const lower = name.toLowerCase();
    if (perConnection.has(lower) || lower === PEER_HEADER || named?.has(lower) === true) continue;
    passing.push(name, rawHeaders[index + 1] ?? "");
  }
  return passing;
}

/** A field that the connection names is about that connection. What names the body's length is not. */
function namedByConnection(rawHeaders: readonly string[]): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== "connection") continue;
    for (const part of rawHeaders[index + 1]?.toLowerCase().split(",") ?? []) {
      const name = part.trim();
      if (name !== "" && name !== "content-length" && name !== "host")
        (named ??= new Set()).add(name);
    }
  }
  return named;
}
