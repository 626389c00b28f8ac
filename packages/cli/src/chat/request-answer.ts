import { errorFromResponse, HubUnreachableError, type Invite } from "@roomhub/client";
import { isClientName, NAME_KEY_PREFIX, percentDecoded } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError } from "../exit-code.ts";
import { waitingFor } from "../terminal/interactivity.ts";
import { safe } from "../terminal/text.ts";
import {
  type ChatSurface,
  readJsonResponse,
  readStreamedResponse,
  type ResponseEnd,
  type ResponseListener,
} from "./response-reader.ts";

export interface ChatMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

export interface ChatRequest {
  hubUrl: string;
  room: string;
  surface: ChatSurface;
  /** the value of the `model` field */
  model: string;
  messages: readonly ChatMessage[];
  /** the person's name, shown to the room; not sent if it is not a valid client name */
  as: string;
  /** the same for all requests of a conversation, so that they stay where its prompt is cached */
  session: string | undefined;
  /** more fields of the body */
  fields?: object;
}

/** Who answers, from the headers of the hub; undefined where a header is missing. */
export interface AnswerHead {
  participantId: string | undefined;
  model: string | undefined;
  requestId: string | undefined;
}

/** The facts about an answer, without its text. */
export interface Answer extends AnswerHead {
  /** as the model server reports it */
  usage: unknown;
  /** It ended at its length limit. */
  isCut: boolean;
  durationMs: number;
  /** to the first text or reasoning; undefined without any */
  ttftMs: number | undefined;
}

export interface AnswerListener extends ResponseListener {
  /** before any text */
  onHead?: (head: AnswerHead) => void;
}

/**
 * Sends messages and streams the answer to the listener.
 *
 * @throws RoomhubError, HubUnreachableError, CommandError for a response that failed on its way, the signal's reason
 */
export async function requestAnswer(
  context: CliContext,
  request: ChatRequest,
  listener: AnswerListener,
  signal: AbortSignal,
): Promise<Answer> {
  const startedMs = context.world.wallMs();
  let ttftMs: number | undefined;
  const timed = (onPart: (part: string) => void) => (part: string) => {
    ttftMs ??= context.world.wallMs() - startedMs;
    onPart(part);
  };
  const timedListener: ResponseListener = {
    onText: timed(listener.onText),
    onReasoning: timed(listener.onReasoning),
  };
  const waiting = `Waiting for ${request.model === "*" ? "a model" : safe(request.model)}`;
  const sending = send(context, request, signal);
  const response = await waitingFor(context, waiting, sending, { isQuiet: !context.stderr.isTTY });
  if (!response.ok) throw errorFromResponse(response, await response.text());
  const head = {
    participantId: hubHeader(response, "x-roomhub-participant"),
    model: hubHeader(response, "x-roomhub-model"),
    requestId: hubHeader(response, "x-request-id"),
  };
  listener.onHead?.(head);
  const end = await readEnd(response, request, timedListener, signal);
  if (end.kind === "failed") {
    throw new CommandError(end.message + (end.code === undefined ? "" : ` (${end.code})`));
  }
  return {
    ...head,
    usage: end.usage,
    isCut: end.isCut,
    durationMs: context.world.wallMs() - startedMs,
    ttftMs,
  };
}

async function send(
  context: CliContext,
  { hubUrl, room, surface, model, messages, as, session, fields }: ChatRequest,
  signal: AbortSignal,
): Promise<Response> {
  const path = surface === "chat" ? "chat/completions" : "responses";
  const input =
    surface === "chat"
      ? { messages, stream_options: { include_usage: true } }
      : { input: messages };
  const headers = {
    ...(isClientName(as) && { authorization: `Bearer ${NAME_KEY_PREFIX}${as}` }),
    ...(session !== undefined && { "x-session-id": session }),
  };
  const body = { model, stream: true, ...input, ...fields };
  return requestStream(context, { hubUrl, room }, { path, headers, body }, signal);
}

/** Requests a streamed response from a room. @throws HubUnreachableError, the signal's reason */
export async function requestStream(
  context: CliContext,
  { hubUrl, room }: Invite,
  { path, headers, body }: { path: string; headers: Record<string, string>; body: object },
  signal: AbortSignal,
): Promise<Response> {
  try {
    return await context.fetch(`${context.createClient(hubUrl).baseUrl(room)}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream", ...headers },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new HubUnreachableError(hubUrl, error);
  }
}

async function readEnd(
  response: Response,
  { hubUrl, surface }: ChatRequest,
  listener: ResponseListener,
  signal: AbortSignal,
): Promise<ResponseEnd> {
  const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  try {
    return isStream && response.body !== null
      ? await readStreamedResponse(response.body, surface, listener)
      : readJsonResponse(await response.text(), surface, listener);
  } catch (error) {
    signal.throwIfAborted();
    // A body whose connection fails throws a TypeError with the cause.
    const isLost = error instanceof TypeError && error.cause !== undefined;
    throw isLost ? new HubUnreachableError(hubUrl, error) : error;
  }
}

/** Decodes an `x-roomhub-…` header, in which the hub percent-encodes all but visible ASCII. Contract §4. */
export function hubHeader({ headers }: Response, name: string): string | undefined {
  const value = headers.get(name);
  return value === null ? undefined : percentDecoded(value);
}
