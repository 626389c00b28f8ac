/**
 * What concerns one connection alone, RFC 9110 §7.6.1. Trailers pass, but not their announcement: it is optional, and Node throws
 * where the next connection has no chunks to put them behind.
 */
const perConnection = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
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

export function isHomeElsewhere({
  headers,
}: {
  headers: Readonly<Record<string, unknown>>;
}): boolean {
  return headers[PEER_HEADER] === HOME_ELSEWHERE;
}

/** A request as it is sent on, but for its framing. */
export interface Onward {
  path: string;
  /** names and values in turn; none concerns one connection alone */
  fields: readonly string[];
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

/**
 * A head as it is written, in Latin-1.
 *
 * @param fields - names and values in turn
 */
export function headText(firstLine: string, fields: readonly string[]): string {
  let text = `${firstLine}\r\n`;
  for (let index = 0; index + 1 < fields.length; index += 2)
    text += `${fields[index]}: ${fields[index + 1]}\r\n`;
  return `${text}\r\n`;
}

/** A field that the connection names is about that connection. What names the body's length is not. */
function namedByConnection(rawHeaders: readonly string[]): Set<string> | undefined {
  let named: Set<string> | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if (name.length !== "connection".length || name.toLowerCase() !== "connection") continue;
    for (const part of rawHeaders[index + 1]?.toLowerCase().split(",") ?? []) {
      const field = part.trim();
      if (field !== "" && field !== "content-length" && field !== "host")
        (named ??= new Set()).add(field);
    }
  }
  return named;
}
