import { normaliseRoomCode, ROOM_CODE_ALPHABET, ROOM_CODE_LENGTH } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";

/** The arguments of `chat`. */
export interface ChatArguments {
  /** a code, an invite URL or a hub's URL; undefined for the hub's only room */
  room: string | undefined;
  prompt: string | undefined;
}

/**
 * Of two arguments the first is the room. A single one is the room when it is a URL of a room or a hub, or looks like a
 * code: six characters of the alphabet of codes, in capitals or with a digit. Everything else is the prompt; a word that
 * may be a code, such as `thanks`, is looked up, see {@link mayBeCode}. An unquoted prompt is noticed because its first
 * word cannot be a room.
 *
 * @param roomOption - the value of `--room`; a single argument is then the prompt
 * @throws UsageError when two arguments are not a room and a prompt
 */
export function readChatArguments(
  context: CliContext,
  first: string | undefined,
  second: string | undefined,
  roomOption: string | undefined,
): ChatArguments {
  const quoted = `${context.commandName} chat ABC234 "Why?"`;
  if (roomOption !== undefined) {
    if (second === undefined) return { room: roomOption, prompt: first };
    throw new UsageError(
      `--room already names the room. Quote the prompt: ${context.commandName} chat --room ABC234 "Why?"`,
    );
  }
  if (second === undefined) {
    const isRoom = first !== undefined && (isUrl(first) || looksLikeCode(first));
    return isRoom ? { room: first, prompt: undefined } : { room: undefined, prompt: first };
  }
  // URLs are parsed, with better errors, later.
  if (/[/:]/.test(first ?? "") || mayBeCode(first ?? "")) return { room: first, prompt: second };
  throw new UsageError(
    `"${first}" is not a room code. Quote the prompt, after the room: ${quoted}`,
  );
}

/** Whether a word could be the code of a room, also as people type it. */
export function mayBeCode(text: string): boolean {
  const code = normaliseRoomCode(text.trim());
  return new RegExp(`^[${ROOM_CODE_ALPHABET}]{${ROOM_CODE_LENGTH}}$`).test(code);
}

/** A word of a language is seldom written so. */
function looksLikeCode(text: string): boolean {
  const word = text.trim();
  return mayBeCode(word) && (word === word.toUpperCase() || /\d/.test(word));
}

/** Whether the text is the URL of a room or a hub. */
function isUrl(text: string): boolean {
  return /^(?:\S+\/rooms\/[A-Za-z0-9]+(?:\/v1)?\/?|https?:\/\/[^\s/?#]+\/?)$/.test(text.trim());
}
