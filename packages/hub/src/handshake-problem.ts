import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Participant } from "./domain/participant.ts";

/**
 * Completes the handshake of a participant's tunnel, whose token was checked before.
 *
 * @param session - the name of the session to resume, from the handshake
 * @throws HubError when it may not be completed
 */
export type AcceptTunnel = (
  participant: Participant,
  session: string | undefined,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
) => void;

/** Request headers. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** 16 bytes in base64. */
const keyForm = /^[A-Za-z0-9+/]{22}==$/;
/** A token of RFC 9110 §5.6.2 in a comma-separated list. */
const protocolForm = /^[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*$/;

/**
 * Why a WebSocket handshake is invalid, as a sentence, or undefined when it is valid. RFC 6455 §4.2.1.
 *
 * Covers everything that `ws` would refuse in HTML without a report.
 *
 * @param headers - names in lower case; `upgrade` is checked before
 */
export function handshakeProblem(method: string | undefined, headers: Headers): string | undefined {
  if (method !== "GET") return "A WebSocket is opened with GET.";
  if (!keyForm.test(String(headers["sec-websocket-key"]))) {
    return "Sec-WebSocket-Key must be 16 bytes in base64.";
  }
  if (headers["sec-websocket-version"] !== "13") return "Sec-WebSocket-Version must be 13.";
  const protocols = headers["sec-websocket-protocol"];
  if (protocols !== undefined && !isListOfNames(String(protocols))) {
    return "Sec-WebSocket-Protocol must be a list of unique names.";
  }
  return undefined;
}

function isListOfNames(list: string): boolean {
  const names = list.split(",").map((entry) => protocolForm.exec(entry)?.[1]);
  return !names.includes(undefined) && new Set(names).size === names.length;
}
