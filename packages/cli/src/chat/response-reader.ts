import { createSseReader, parseObject, isObject, type JsonObject } from "@roomhub/protocol";

/** Receives the text of a response as it streams in. */
export interface ResponseListener {
  onText: (text: string) => void;
  onReasoning: (text: string) => void;
}

export type ChatSurface = "chat" | "responses";

/** How a response ended. */
export type ResponseEnd =
  | { kind: "complete"; usage: unknown; isCut: boolean }
  | { kind: "failed"; message: string; code: string | undefined };

interface ReaderState {
  listener: ResponseListener;
  isComplete: boolean;
  /** It ended at its length limit. */
  isCut: boolean;
  usage: unknown;
  failure: { message: string; code: string | undefined } | undefined;
}

/**
 * Reads a streamed response to its end. A stream without its terminal marker is a failure, whatever came before.
 * Interface §4; contract §4 for the error frames.
 */
export async function readStreamedResponse(
  body: ReadableStream<Uint8Array>,
  surface: ChatSurface,
  listener: ResponseListener,
): Promise<ResponseEnd> {
  const state = newState(listener);
  const take = surface === "chat" ? takeChatChunk : takeResponsesEvent;
  const decoder = new TextDecoder();
  const sse = createSseReader((message) => {
    if (message.data === "[DONE]") {
      if (surface === "chat") state.isComplete = true;
      return;
    }
    const data = parseObject(message.data);
    if (data !== undefined && state.failure === undefined) take(data, state);
  });
  for await (const chunk of body) sse.feed(decoder.decode(chunk, { stream: true }));
  if (state.failure !== undefined) return { kind: "failed", ...state.failure };
  if (state.isComplete) return { kind: "complete", usage: state.usage, isCut: state.isCut };
  return { kind: "failed", message: "The response was truncated", code: undefined };
}

/** Reads the one JSON body with which some providers respond to a stream request. */
export function readJsonResponse(
  text: string,
  surface: ChatSurface,
  listener: ResponseListener,
): ResponseEnd {
  const state = newState(listener);
  const body = parseObject(text);
  if (body === undefined) {
    return { kind: "failed", message: "The response is not JSON", code: undefined };
  }
  if (surface === "chat") {
    const choice = firstOf(body["choices"]);
    const message = objectField(choice, "message");
    emit(message?.["reasoning_content"] ?? message?.["reasoning"], listener.onReasoning);
    emit(message?.["content"], listener.onText);
    state.isCut = choice?.["finish_reason"] === "length";
  } else {
    state.isCut = body["status"] === "incomplete";
    for (const item of listOf(body["output"])) {
      for (const part of listOf(item["content"])) emit(part["text"], listener.onText);
    }
  }
  noteFailure(body["error"], state);
  return state.failure === undefined
    ? { kind: "complete", usage: body["usage"], isCut: state.isCut }
    : { kind: "failed", ...state.failure };
}

function newState(listener: ResponseListener): ReaderState {
  return { listener, isComplete: false, isCut: false, usage: undefined, failure: undefined };
}

function takeChatChunk(chunk: JsonObject, state: ReaderState): void {
  if (noteFailure(chunk["error"], state)) return;
  state.usage = chunk["usage"] ?? state.usage;
  const choice = firstOf(chunk["choices"]);
  const delta = objectField(choice, "delta");
  emit(delta?.["reasoning_content"] ?? delta?.["reasoning"], state.listener.onReasoning);
  emit(delta?.["content"], state.listener.onText);
  const reason = choice?.["finish_reason"];
  if (typeof reason !== "string") return;
  state.isComplete = true;
  state.isCut = reason === "length";
}

function takeResponsesEvent(event: JsonObject, state: ReaderState): void {
  const response = objectField(event, "response");
  switch (event["type"]) {
    case "response.output_text.delta":
    case "response.refusal.delta":
      emit(event["delta"], state.listener.onText);
      return;
    case "response.reasoning_text.delta":
    case "response.reasoning_summary_text.delta":
      emit(event["delta"], state.listener.onReasoning);
      return;
    case "response.completed":
    case "response.incomplete":
      state.isComplete = true;
      state.isCut = event["type"] === "response.incomplete";
      state.usage = response?.["usage"];
      return;
    case "response.failed":
      noteFailure(response?.["error"] ?? {}, state);
      return;
    case "error":
      noteFailure(event["error"] ?? event, state);
      return;
    default:
      if (event["type"] === undefined) noteFailure(event["error"], state);
  }
}

/** @returns whether there was an error */
function noteFailure(error: unknown, state: ReaderState): boolean {
  if (error === undefined || error === null) return false;
  const fields = typeof error === "object" ? (error as JsonObject) : { message: error };
  const message = fields["message"];
  const code = fields["code"];
  state.failure ??= {
    message: typeof message === "string" ? message : "The request failed",
    code: typeof code === "string" && code !== "" ? code : undefined,
  };
  return true;
}

function emit(text: unknown, listener: (text: string) => void): void {
  if (typeof text === "string" && text !== "") listener(text);
}

function objectField(object: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = object?.[name];
  return isObject(value) ? value : undefined;
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function firstOf(value: unknown): JsonObject | undefined {
  return listOf(value)[0];
}
