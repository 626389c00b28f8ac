import { normaliseRoomCode, ROOM_CODE_ALPHABET, ROOM_CODE_LENGTH } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { UsageError } from "../exit-code.ts";

/** What stands behind `chat`, told apart. */
export interface ChatArguments {
  /** a code or an invite URL; undefined where the hub's only room is meant */
  room: string | undefined;
  prompt: string | undefined;
}

/**
 * One word is the question, of two the first is the room: a question that somebody forgot to quote begins with a word
 * that can be none.
 *
 * @param roomOption - what `--room` says
 * @throws UsageError when there are two words that are not a room and a question
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
    throw new UsageError(`--room names the room already. Write the rest as one word: ${quoted}`);
  }
  if (!canBeRoom(first ?? "")) {
    throw new UsageError(
      `"${first}" is no room code. Quote the question, with the room before it: ${quoted}`,
    );
  }
  return { room: first, prompt: second };
}

/** Whether somebody who writes this alone means the room, although it is asked as the question. */
export function isRoomUrl(text: string): boolean {
  return /^https?:\/\/\S+\/rooms\/[A-Za-z0-9]+(?:\/v1)?\/?$/.test(text.trim());
}

/** A code has its own letters; what is wrong with a URL is for others to say. */
function canBeRoom(text: string): boolean {
  if (/[/:]/.test(text)) return true;
  const code = normaliseRoomCode(text.trim());
  return new RegExp(`^[${ROOM_CODE_ALPHABET}]{${ROOM_CODE_LENGTH}}$`).test(code);
}
