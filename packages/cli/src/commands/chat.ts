import type { Invite } from "@roomhub/client";
import {
  normaliseRoomCode,
  ROOM_CODE_ALPHABET,
  ROOM_CODE_LENGTH,
  timeoutSignal,
} from "@roomhub/protocol";
import { answerLine, createAnswerPrinter } from "../chat/answer-printer.ts";
import { type ChatRequest, requestAnswer } from "../chat/request-answer.ts";
import type { ChatSurface } from "../chat/response-reader.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, UsageError } from "../exit-code.ts";
import { clientName, type HubOptionValues, inviteOf, type RoomhubCommand } from "../options.ts";
import { chooseRoom } from "../rooms/choose-room.ts";
import { searchMs } from "../rooms/find-rooms.ts";
import { defaultHubUrl } from "../rooms/hub-address.ts";
import { interactivityOf } from "../terminal/interactivity.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { colorsFor, shellWord, writeJson } from "../terminal/text.ts";
import { locateRoom } from "../rooms/locate.ts";

interface ChatOptionValues extends HubOptionValues {
  room?: string;
  model?: string;
  as?: string;
  responses?: boolean;
}

export function addChatCommand(program: RoomhubCommand, context: CliContext): void {
  program
    .command("chat")
    .argument("[room]", "room code, invite URL or hub URL (default: the only one there is)")
    .argument("[prompt]", "send this and exit; - reads it from stdin")
    .hubOptions()
    .option("--room <room>", "the room; a single argument is then the prompt")
    .option("--model <selector>", "participant id, model name, model:<name>, or * for any")
    .option("--as <name>", "name shown to the room (default: your user name)", clientName)
    .option("--responses", "use the Responses API instead of chat completions")
    .addHelpText(
      "after",
      `
A single argument is the room when it is a URL, when it looks like a code (six
of its characters, in capitals or with a digit), or when the hub has a room of
that code. Else it is the prompt.

Example:
  $ roomhub chat                            # a conversation
  $ roomhub chat "Why is the sky blue?"     # one prompt, in the hub's only room
  $ roomhub chat ABC234 "Why is the sky blue?"
  $ git diff | roomhub chat ABC234`,
    )
    .action((first: string | undefined, second: string | undefined, options: ChatOptionValues) =>
      chat(context, readChatArguments(context, first, second, options.room), options),
    );
}

async function chat(
  context: CliContext,
  words: ChatArguments,
  options: ChatOptionValues,
): Promise<void> {
  const surface: ChatSurface = options.responses === true ? "responses" : "chat";
  const who = { surface, as: options.as ?? context.userName };
  const interactivity = interactivityOf(context, options);
  const { room, prompt } = await withCodeAsRoom(context, words, options);
  if (prompt === undefined && interactivity.canAsk && context.stdout.isTTY) {
    // Where none is named, a conversation searches the network too.
    const hub = options.namedHub ?? (await hubHere(context, room));
    const invite = await chooseRoom(context, { given: room, hubUrl: hub }, interactivity, "chat");
    const { runChatSession } = await import("../chat/chat-session.ts");
    return runChatSession(context, { ...invite, ...who, model: options.model });
  }
  const text = await readPrompt(context, { room, prompt });
  const invite = await resolveRoom(context, { room, prompt }, options);
  const messages = [{ role: "user", content: text }] as const;
  const request = { ...invite, ...who, model: options.model ?? "*", messages, session: undefined };
  await untilStopped(context, async (signal) => {
    try {
      await printAnswer(context, request, signal, options.json === true);
    } catch (error) {
      if (signal.aborted) throw new CommandError("Stopped", undefined, EXIT.interrupted);
      throw error;
    }
  });
}

/** @returns undefined to search the network: a room is named, or this machine's hub has none */
async function hubHere(context: CliContext, room: string | undefined): Promise<string | undefined> {
  if (room !== undefined) return undefined;
  const signal = timeoutSignal(context.world, searchMs);
  const listing = context.createClient(defaultHubUrl).listRooms({ signal });
  const rooms = await listing.catch(() => []);
  return rooms.length === 0 ? undefined : defaultHubUrl;
}

/** If the prompt is a single word and the hub has a room with that code, the room is meant. */
async function withCodeAsRoom(
  context: CliContext,
  { room, prompt }: ChatArguments,
  { hub }: ChatOptionValues,
): Promise<ChatArguments> {
  if (room !== undefined || prompt === undefined || !mayBeCode(prompt)) return { room, prompt };
  const rooms = await context.createClient(hub).listRooms();
  const isCode = rooms.some(({ code }) => code === normaliseRoomCode(prompt.trim()));
  return isCode ? { room: prompt, prompt: undefined } : { room, prompt };
}

async function readPrompt(context: CliContext, { room, prompt }: ChatArguments): Promise<string> {
  const isFromStdin = prompt === "-" || (prompt === undefined && !context.isStdinTTY);
  const text = isFromStdin ? await context.readStdin() : (prompt ?? "");
  if (text.trim() !== "") return text;
  const where = room === undefined ? "" : ` ${shellWord(room)}`;
  throw new UsageError(
    `The prompt is missing. Write: ${context.commandName} chat${where} "Your question"`,
  );
}

/** The room may be left out when the hub has only one. */
async function resolveRoom(
  context: CliContext,
  { room, prompt = "-" }: ChatArguments,
  options: ChatOptionValues,
): Promise<Invite> {
  const hubUrl = options.hub;
  const cannotAsk = { canAsk: false, isQuiet: true };
  if (room !== undefined && !mayBeCode(room)) {
    return chooseRoom(context, { given: room, hubUrl }, cannotAsk, "chat");
  }
  if (room !== undefined) return inviteOf(room, options);
  const question = /^.{1,60}$/.test(prompt) ? shellWord(prompt) : '"Your question"';
  return locateRoom(context, undefined, options, (url) => `chat ${url} ${question}`);
}

async function printAnswer(
  context: CliContext,
  request: ChatRequest,
  signal: AbortSignal,
  isJson: boolean,
): Promise<void> {
  const { stdout, stderr } = context;
  const printer = createAnswerPrinter(context, isJson);
  const answer = await requestAnswer(context, request, printer, signal).finally(printer.endLine);
  if (isJson) {
    const { participantId, model, requestId, usage } = answer;
    writeJson(stdout, { text: printer.text(), participantId, model, requestId, usage });
  } else if (stderr.isTTY && answer.participantId !== undefined) {
    const line = answerLine(answer, stderr.columns ?? 80);
    stderr.write(`${colorsFor(context, stderr).dim(line)}\n`);
  }
}

/** The arguments of `chat`. */
interface ChatArguments {
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
