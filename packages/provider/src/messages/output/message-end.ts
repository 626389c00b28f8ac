import { promptTooLong, readContextRefusal } from "@roomhub/protocol";
import { fieldsOf, tokenCount } from "../../translation/chat/provider-field.ts";
import type { ProviderError } from "../../translation/chat/chat-stream.ts";

/** How a message ended: Anthropic's `stop_reason` and `stop_sequence`. */
export interface MessageStop {
  stop_reason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "refusal";
  stop_sequence: string | null;
}

export interface ChatStop {
  /** undefined when the provider gave none and reported that it is done */
  finishReason: string | undefined;
  /** the stop text that was found, where the provider names it */
  stopSequence: string | undefined;
  hasCalls: boolean;
  hasRefusal: boolean;
}

/** Mistral ends with `model_length` at the end of the context window. */
const cut: ReadonlySet<string | undefined> = new Set(["length", "max_tokens", "model_length"]);

/** Finish reasons that are failures: the message is incomplete for no reason of the request. */
const failures: ReadonlySet<string> = new Set([
  // Mistral and OpenRouter
  "error",
  // SGLang and vLLM, when an operator there stopped it
  "abort",
  // DeepSeek, when it lacks resources
  "insufficient_system_resource",
]);

/** A message with calls ends with `tool_use`, whatever reason the server gives. */
export function messageStop(stop: ChatStop): MessageStop {
  const { finishReason, stopSequence, hasCalls, hasRefusal } = stop;
  if (cut.has(finishReason)) return { stop_reason: "max_tokens", stop_sequence: null };
  if (finishReason === "content_filter") return { stop_reason: "refusal", stop_sequence: null };
  if (hasCalls) return { stop_reason: "tool_use", stop_sequence: null };
  if (hasRefusal) return { stop_reason: "refusal", stop_sequence: null };
  if (stopSequence !== undefined) {
    return { stop_reason: "stop_sequence", stop_sequence: stopSequence };
  }
  return { stop_reason: "end_turn", stop_sequence: null };
}

/** @returns why the message is incomplete, if the reason is a failure */
export function failureIn(finishReason: string | undefined): string | undefined {
  if (finishReason === undefined || !failures.has(finishReason)) return undefined;
  return `The provider stopped before the message was complete (${finishReason}).`;
}

/** Token counts as in Anthropic's API: cached tokens are not part of `input_tokens`. */
export interface MessageUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

/** For unknown usage, since clients expect numbers. */
export const noUsage: MessageUsage = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};

/** @param usage - of chat; @param timings - of llama.cpp, which count what chat's usage may leave out */
export function messageUsage(usage: unknown, timings: unknown): MessageUsage {
  const counts = fieldsOf(usage);
  const own = fieldsOf(timings);
  const cached =
    tokenCount(fieldsOf(counts["prompt_tokens_details"])["cached_tokens"]) ??
    tokenCount(own["cache_n"]) ??
    0;
  const prompt = tokenCount(counts["prompt_tokens"]);
  const output = tokenCount(counts["completion_tokens"]) ?? tokenCount(own["predicted_n"]);
  const input = prompt === undefined ? tokenCount(own["prompt_n"]) : Math.max(0, prompt - cached);
  if (input === undefined && output === undefined) return noUsage;
  return {
    ...noUsage,
    input_tokens: input ?? 0,
    cache_read_input_tokens: cached,
    output_tokens: output ?? 0,
  };
}

/** An error as Anthropic has it, in a body or in an `error` event. */
export interface MessageError {
  type: "error";
  error: { type: string; message: string };
}

/** The types that clients act on, by the provider's code. docs.claude.com, API errors. */
const types: ReadonlyMap<string, string> = new Map([
  ["400", "invalid_request_error"],
  ["invalid_request_error", "invalid_request_error"],
  ["413", "request_too_large"],
  ["429", "rate_limit_error"],
  ["rate_limit_exceeded", "rate_limit_error"],
  ["503", "overloaded_error"],
  ["529", "overloaded_error"],
]);

export function messageError({ message, code, type }: ProviderError): MessageError {
  const context = readContextRefusal(JSON.stringify({ error: { message, code, type } }));
  const error =
    context === undefined
      ? { type: types.get(code) ?? types.get(type) ?? "api_error", message }
      : { type: "invalid_request_error", message: promptTooLong(context, message) };
  return { type: "error", error };
}
