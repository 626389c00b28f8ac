import { normaliseRoomCode, ROOM_CODE_ALPHABET, ROOM_CODE_LENGTH } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";

/** The arguments of `chat`. */
export interface ChatArguments {
  /** a code or an invite URL; undefined for the hub's only room */
  room: string | undefined;
  prompt: string | undefined;
}

/**
 * One argument is the prompt; of two, the first is the room. An unquoted prompt is noticed because its first word cannot
 * be a room.
 *
 * @param roomOption - the value of `--room`
 * @throws UsageError when two arguments are not a room and a prompt
 */
export function readChatArguments(
  context: CliContext,
  first: string | undefined,
  second: string | undefined,
  roomOption: string | undefined,
): ChatArguments {
  if (second === undefined) return { room: roomOption, prompt: first };
  const quoted = `${context.commandName} chat ABC234 "Why?"`;
  if (roomOption !== undefined) {
    throw new UsageError(
      `--room already names the room. Quote the prompt: ${context.commandName} chat --room ABC234 "Why?"`,
    );
  }
  if (!canBeRoom(first ?? "")) {
    throw new UsageError(
      `"${first}" is not a room code. Quote the prompt, after the room: ${quoted}`,
    );
  }
  return { room: first, prompt: second };
}

/** Whether a single argument is probably intended as the room, although it is sent as the prompt. */
export function isRoomUrl(text: string): boolean {
  return /^https?:\/\/\S+\/rooms\/[A-Za-z0-9]+(?:\/v1)?\/?$/.test(text.trim());
}

/** Checks codes only: URLs are parsed, with better errors, later. */
function canBeRoom(text: string): boolean {
  if (/[/:]/.test(text)) return true;
  const code = normaliseRoomCode(text.trim());
  return new RegExp(`^[${ROOM_CODE_ALPHABET}]{${ROOM_CODE_LENGTH}}$`).test(code);
}
