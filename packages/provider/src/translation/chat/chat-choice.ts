import { type LogProb, readLogProbs } from "./log-probs.ts";
import { fieldsOf, textOf } from "./provider-field.ts";
import { isAbsent, isObject, type JsonObject } from "../read-field.ts";
import type { ReasoningField } from "../reasoning-field.ts";

/** What one chunk of a chat stream, or one whole message, says. Empty strings and lists where it says nothing. */
export interface ChatContent {
  reasoning: string;
  text: string;
  refusal: string;
  calls: readonly CallPiece[];
  /** of `text` */
  logprobs: readonly LogProb[];
}

/** A tool call, or the part of one that a chunk carries. Empty strings where it says nothing. */
export interface CallPiece {
  /** which of the response's calls; some servers never say */
  index: number | undefined;
  id: string;
  name: string;
  /** JSON, possibly cut */
  arguments: string;
}

/** The first choice of a chat chunk or completion, the only one that counts: other surfaces know no `n`. */
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
 * Reads one chunk of a stream. Everything is optional: the chunk with the usage has no choices, some servers leave out
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
  // Here every entry is a call of its own, even where ids or indices repeat.
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

/** Some servers forget that these are JSON in a string. */
function argumentsIn(value: unknown): string {
  if (!isObject(value)) return textOf(value);
  try {
    return JSON.stringify(value);
  } catch {
    return ""; // nested so deep that only a parser gets to the bottom of it: no function has such arguments
  }
}
