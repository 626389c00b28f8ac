import { isObject, type JsonObject, parseJson, tokenCount } from "@roomhub/protocol";
import { fieldsOf, textOf } from "./provider-field.ts";
import { isAbsent } from "../placed-object.ts";
import type { ReasoningField } from "./chat-message.ts";

/** The content of one chunk of a chat stream, or of a whole message. Empty strings and lists for nothing. */
export interface ChatContent {
  reasoning: string;
  text: string;
  refusal: string;
  calls: readonly CallPiece[];
  /** of `text` */
  logprobs: readonly LogProb[];
}

/** A tool call, or the part of one in a chunk. Empty strings for nothing. */
export interface CallPiece {
  /** which of the response's calls; some servers never say */
  index: number | undefined;
  id: string;
  name: string;
  /** JSON, possibly cut */
  arguments: string;
}

/** The first choice of a chat chunk or completion, the only one that counts: other surfaces have no `n`. */
export interface ChatChoice {
  content: ChatContent;
  /** the server's field for reasoning, when there is some */
  reasoningField: ReasoningField | undefined;
  finishReason: string | undefined;
  /** the stop text that was found, where the provider names it (vLLM's `stop_reason`) */
  stopSequence: string | undefined;
  model: string | undefined;
  /** as the provider wrote it */
  usage: unknown;
  /** llama.cpp's own counts, as it wrote them */
  timings: unknown;
}

const noCalls: readonly CallPiece[] = [];

/**
 * Reads one chunk of a stream. Every field is optional: the chunk with the usage has no choices, and some servers leave out
 * what OpenAI always sends.
 */
export function readChatChunk(value: unknown): ChatChoice {
  const chunk = fieldsOf(value);
  const choice = firstChoice(chunk["choices"]) ?? {};
  const delta = fieldsOf(choice["delta"]);
  return choiceOf(chunk, choice, delta, contentIn(delta, choice));
}

/** Reads a whole `chat.completion`. @returns undefined when it is none */
export function readChatCompletion(value: unknown): ChatChoice | undefined {
  const completion = fieldsOf(value);
  const choice = firstChoice(completion["choices"]);
  const body = choice?.["message"];
  if (choice === undefined || typeof body !== "object" || body === null) return undefined;
  const message = fieldsOf(body);
  const { calls, ...rest } = contentIn(message, choice);
  // Every entry is one call, even if ids or indices repeat.
  const whole = calls.map((call, index) => Object.assign({}, call, { index }));
  return choiceOf(completion, choice, message, { ...rest, calls: whole });
}

function choiceOf(
  whole: JsonObject,
  choice: JsonObject,
  message: JsonObject,
  content: ChatContent,
): ChatChoice {
  return {
    content,
    reasoningField: reasoningFieldIn(message),
    // Some servers write an empty one in every chunk.
    finishReason: textOf(choice["finish_reason"]) || undefined,
    stopSequence: textOf(choice["stop_reason"]) || undefined,
    model: textOf(whole["model"]) || undefined,
    usage: whole["usage"],
    timings: whole["timings"],
  };
}

/** What a finish reason says of a response; any other is an ordinary end. */
const endings: ReadonlyMap<string | undefined, "cut" | "filtered" | "failed"> = new Map([
  ["length", "cut"],
  ["max_tokens", "cut"],
  // Mistral, at the end of the context window
  ["model_length", "cut"],
  ["content_filter", "filtered"],
  // Mistral and OpenRouter: an incomplete response
  ["error", "failed"],
  // SGLang and vLLM, when an operator there stopped it
  ["abort", "failed"],
  // DeepSeek, when it lacks resources
  ["insufficient_system_resource", "failed"],
]);

/** @param finishReason - undefined when the provider gave none and reported that it is done */
export function endingOf(finishReason: string | undefined) {
  return endings.get(finishReason);
}

/** A chat `usage`, and what llama.cpp's `timings` count. */
export function readChatUsage(usage: unknown, timings?: unknown) {
  const counts = fieldsOf(usage);
  const own = fieldsOf(timings);
  return {
    prompt: tokenCount(counts["prompt_tokens"]),
    cached:
      tokenCount(fieldsOf(counts["prompt_tokens_details"])["cached_tokens"]) ??
      tokenCount(own["cache_n"]) ??
      0,
    coldPrompt: tokenCount(own["prompt_n"]),
    completion: tokenCount(counts["completion_tokens"]) ?? tokenCount(own["predicted_n"]),
    reasoning: tokenCount(fieldsOf(counts["completion_tokens_details"])["reasoning_tokens"]) ?? 0,
    total: tokenCount(counts["total_tokens"]),
  };
}

function firstChoice(choices: unknown): JsonObject | undefined {
  if (!Array.isArray(choices)) return undefined;
  return choices.map(fieldsOf).find(({ index }) => index === 0 || isAbsent(index));
}

function contentIn(message: JsonObject, choice: JsonObject): ChatContent {
  const { content } = message;
  const parts = Array.isArray(content) ? readParts(content) : undefined;
  const reasoningField = reasoningFieldIn(message);
  return {
    reasoning:
      reasoningField === undefined ? (parts?.reasoning ?? "") : textOf(message[reasoningField]),
    text: parts?.text ?? textOf(content),
    refusal: textOf(message["refusal"]),
    calls: readCalls(message),
    logprobs: readLogProbs(fieldsOf(choice["logprobs"])["content"]),
  };
}

function reasoningFieldIn(message: JsonObject): ReasoningField | undefined {
  if (textOf(message["reasoning_content"]) !== "") return "reasoning_content";
  return textOf(message["reasoning"]) === "" ? undefined : "reasoning";
}

/** Content as a list, as Mistral sends it: `{type: "text", text}` and `{type: "thinking", thinking: [{text}]}`. */
function readParts(content: unknown[]): { text: string; reasoning: string } {
  const parts = content.map(fieldsOf);
  return {
    text: parts.map(({ text }) => textOf(text)).join(""),
    reasoning: parts.map(({ thinking }) => reasoningIn(thinking)).join(""),
  };
}

function reasoningIn(thinking: unknown): string {
  if (!Array.isArray(thinking)) return textOf(thinking);
  return thinking.map((part) => textOf(fieldsOf(part)["text"])).join("");
}

/** `tool_calls`, or the one `function_call` that was before there were tools. */
function readCalls(message: JsonObject): readonly CallPiece[] {
  const { tool_calls: calls, function_call: call } = message;
  if (Array.isArray(calls)) return calls.map((entry) => readCall(fieldsOf(entry)));
  // TGI 2.4 sends the one call without the list.
  if (isObject(calls) && isObject(calls["function"])) return [readCall(calls)];
  return typeof call === "object" && call !== null ? [readCall({ function: call })] : noCalls;
}

function readCall(call: JsonObject): CallPiece {
  const { index, id } = call;
  const called = fieldsOf(call["function"]);
  return {
    index: typeof index === "number" ? index : undefined,
    id: textOf(id),
    name: textOf(called["name"]),
    arguments: argumentsIn(called["arguments"]),
  };
}

/** Some servers send an object in place of JSON in a string. */
function argumentsIn(value: unknown): string {
  if (!isObject(value)) return textOf(value);
  try {
    return JSON.stringify(value);
  } catch {
    return ""; // nested too deeply to be written: no function has such arguments
  }
}

/** The provider's 2xx response is not a chat completion, and cannot be translated. */
export class NotChatError extends Error {
  override readonly name = "NotChatError";
}

/** @param body - the provider's, of status 2xx; @throws NotChatError */
export function parseChatCompletion(body: Buffer): ChatChoice {
  const choice = readChatCompletion(parseJson(body.toString("utf8")));
  if (choice !== undefined) return choice;
  throw new NotChatError(
    "The provider's response has no choices[0].message, so it is not a chat completion. Check that its base URL points to an OpenAI-compatible server.",
  );
}

/** The probability of a token, as Open Responses 2026-04-24 has it: every key is required. */
export interface LogProb extends TopLogProb {
  top_logprobs: TopLogProb[];
}

interface TopLogProb {
  token: string;
  logprob: number;
  /** of the token in UTF-8; filled in where chat says null */
  bytes: number[];
}

const none: readonly LogProb[] = [];

/** Reads `logprobs.content` of a chat choice; anything but a list of tokens is an empty list. */
export function readLogProbs(content: unknown): readonly LogProb[] {
  return Array.isArray(content) ? content.flatMap(readToken) : none;
}

function readToken(entry: unknown): LogProb[] {
  const { top_logprobs: top } = fieldsOf(entry);
  return readTop(entry).map((token) => ({
    ...token,
    top_logprobs: Array.isArray(top) ? top.flatMap(readTop) : [],
  }));
}

function readTop(entry: unknown): TopLogProb[] {
  const { token, logprob, bytes } = fieldsOf(entry);
  if (typeof token !== "string" || typeof logprob !== "number") return [];
  return [{ token, logprob, bytes: isBytes(bytes) ? bytes : [...Buffer.from(token)] }];
}

function isBytes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((byte) => Number.isInteger(byte));
}
