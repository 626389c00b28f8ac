import { errorFromResponse, HubUnreachableError, type Invite } from "@roomhub/client";
import { normaliseRoomCode, type Room } from "@roomhub/protocol";
import type { Command } from "commander";
import {
  type ResponseEnd,
  type ResponseListener,
  type ChatSurface,
  readStreamedResponse,
  readJsonResponse,
} from "../chat/response-reader.ts";
import { type ChatArguments, isRoomUrl, readChatArguments } from "../chat/chat-arguments.ts";
import { noRoomAt, severalRooms } from "../rooms/choose-room.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT, UsageError } from "../exit-code.ts";
import { hubHeader } from "../chat/hub-header.ts";
import { hintHere } from "../rooms/hub-hint.ts";
import { addHubOptions, type HubOptionValues, inviteOf } from "../options.ts";
import { untilStopped } from "../terminal/stop-signal.ts";
import { colorsFor, safe, safeLines, shellWord, writeJson } from "../terminal/text.ts";

interface ChatOptionValues extends HubOptionValues {
  room?: string;
  model: string;
  responses?: boolean;
}

export function addChatCommand(program: Command, context: CliContext): void {
  addHubOptions(
    program
      .command("chat")
      .argument("[room]", "room code or invite URL; not needed when the hub has one room")
      .argument("[prompt]", "the prompt; - reads it from stdin")
      .description("send a prompt to a room and stream the response"),
  )
    .option("--room <room>", "the room, instead of the argument")
    .option("--model <selector>", "participant id, model name, model:<name>, or * for any", "*")
    .option("--responses", "use the Responses API instead of chat completions")
    .addHelpText(
      "after",
      '\nExample:\n  $ roomhub chat ABC234 "Why is the sky blue?"\n  $ roomhub chat "Why is the sky blue?"    # in the hub\'s only room\n  $ git diff | roomhub chat ABC234 -',
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
  const text = await readPrompt(context, words);
  const invite = await resolveRoom(context, words, options);
  const surface: ChatSurface = options.responses === true ? "responses" : "chat";
  const question: Question = { ...invite, surface, model: options.model, prompt: text };
  await untilStopped(context, async (signal) => {
    try {
      const response = await sendPrompt(context, question, signal);
      await printResponse(context, response, surface, options.json === true);
    } catch (error) {
      if (signal.aborted) throw new CommandError("Stopped", undefined, EXIT.interrupted);
      throw error;
    }
  });
}

async function readPrompt(context: CliContext, { room, prompt }: ChatArguments): Promise<string> {
  const isFromStdin = prompt === "-" || (prompt === undefined && !context.isStdinTTY);
  const text = isFromStdin ? await context.readStdin() : (prompt ?? "");
  if (text.trim() === "") throw noPrompt(context, room);
  return text;
}

function noPrompt({ commandName }: CliContext, room: string | undefined): UsageError {
  const where = room === undefined ? "" : ` ${shellWord(room)}`;
  return new UsageError(
    `The prompt is missing. Write: ${commandName} chat${where} "Your question"`,
  );
}

/** The room may be left out when the hub has only one; a lone argument is then the prompt, even if it looks like a room. */
async function resolveRoom(
  context: CliContext,
  { room: named, prompt = "-" }: ChatArguments,
  options: ChatOptionValues,
): Promise<Invite> {
  if (named !== undefined) return inviteOf(named, options);
  const hubUrl = options.hub;
  const rooms = await listRooms(context, prompt, hubUrl);
  const [only] = rooms;
  const isRoom = isRoomUrl(prompt) || rooms.some(({ code }) => code === normaliseRoomCode(prompt));
  if (only !== undefined && rooms.length === 1) {
    if (isRoom) warnSentAsPrompt(context, prompt, hubUrl);
    return { hubUrl, room: only.code };
  }
  if (isRoom) throw noPrompt(context, prompt);
  if (only === undefined) throw noRoomAt(context, hubUrl);
  const question = /^.{1,60}$/.test(prompt) ? shellWord(prompt) : '"Your question"';
  const found = rooms.map((room) => ({ hubUrl, room }));
  throw severalRooms(context, found, (url) => `chat ${url} ${question}`);
}

async function listRooms(context: CliContext, prompt: string, hubUrl: string): Promise<Room[]> {
  try {
    return await context.createClient(hubUrl).listRooms();
  } catch (error) {
    // A lone invite URL probably means another hub, so this hub's error would mislead.
    throw isRoomUrl(prompt) ? noPrompt(context, prompt) : error;
  }
}

function warnSentAsPrompt(context: CliContext, prompt: string, hubUrl: string): void {
  const room = isRoomUrl(prompt) ? prompt : normaliseRoomCode(prompt);
  const line = hintHere(context, `roomhub chat ${shellWord(room)} "Your question"`, hubUrl);
  context.stderr.write(`! ${safe(room)} was sent as the prompt\n→ to use that room: ${line}\n`);
}

interface Question {
  hubUrl: string;
  room: string;
  surface: ChatSurface;
  model: string;
  prompt: string;
}

async function sendPrompt(
  context: CliContext,
  { hubUrl, room, surface, model, prompt }: Question,
  signal: AbortSignal,
): Promise<Response> {
  const path = surface === "chat" ? "chat/completions" : "responses";
  const input =
    surface === "chat"
      ? {
          messages: [{ role: "user", content: prompt }],
          stream_options: { include_usage: true },
        }
      : { input: prompt };
  let response: Response;
  try {
    response = await context.fetch(`${context.createClient(hubUrl).baseUrl(room)}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ model, stream: true, ...input }),
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new HubUnreachableError(hubUrl, error);
  }
  if (!response.ok) throw errorFromResponse(response, await response.text());
  return response;
}

async function printResponse(
  context: CliContext,
  response: Response,
  surface: ChatSurface,
  isJson: boolean,
): Promise<void> {
  const colors = colorsFor(context, context.stderr);
  const { listener, endLine, heard } = listenerFor(context, isJson);
  let end: ResponseEnd;
  try {
    const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    end =
      isStream && response.body !== null
        ? await readStreamedResponse(response.body, surface, listener)
        : readJsonResponse(await response.text(), surface, listener);
  } finally {
    endLine();
  }
  if (end.kind === "failed") {
    const code = end.code === undefined ? "" : ` (${end.code})`;
    throw new CommandError(end.message + code);
  }
  const participant = hubHeader(response, "x-roomhub-participant");
  const model = hubHeader(response, "x-roomhub-model");
  if (isJson) {
    const requestId = hubHeader(response, "x-request-id");
    writeJson(context.stdout, {
      text: heard(),
      participantId: participant,
      model,
      requestId,
      usage: end.usage,
    });
  } else if (context.stderr.isTTY && participant !== undefined) {
    context.stderr.write(`${colors.dim(`— ${safe(participant)} (${safe(model ?? "?")})`)}\n`);
  }
}

/** Prints text as it streams in. Reasoning goes to a terminal's stderr only; each kind of text starts on a new line. */
function listenerFor(context: CliContext, isJson: boolean) {
  const { stdout, stderr } = context;
  const colors = colorsFor(context, stderr);
  let text = "";
  let last: "text" | "reasoning" = "text";
  let isLineOpen = false;
  const endLine = () => {
    if (isLineOpen) (last === "text" ? stdout : stderr).write("\n");
    isLineOpen = false;
  };
  const show = (kind: typeof last, part: string) => {
    if (isJson || (kind === "reasoning" && !stderr.isTTY)) return;
    if (kind !== last) endLine();
    last = kind;
    isLineOpen = !part.endsWith("\n");
    if (kind === "text") stdout.write(safeLines(part));
    else stderr.write(colors.dim(safeLines(part)));
  };
  const listener: ResponseListener = {
    onText: (part) => {
      text += part;
      show("text", part);
    },
    onReasoning: (part) => show("reasoning", part),
  };
  return { listener, endLine, heard: () => text };
}
