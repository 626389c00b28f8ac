import { promptTooLong, readContextRefusal } from "@roomhub/protocol";
import { endingOf, readChatUsage } from "../../translation/chat/chat-choice.ts";
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

/** A message with calls ends with `tool_use`, whatever reason the server gives. */
export function messageStop(stop: ChatStop): MessageStop {
  const { finishReason, stopSequence, hasCalls, hasRefusal } = stop;
  const ending = endingOf(finishReason);
  if (ending === "cut") return { stop_reason: "max_tokens", stop_sequence: null };
  if (ending === "filtered") return { stop_reason: "refusal", stop_sequence: null };
  if (hasCalls) return { stop_reason: "tool_use", stop_sequence: null };
  if (hasRefusal) return { stop_reason: "refusal", stop_sequence: null };
  if (stopSequence !== undefined) {
    return { stop_reason: "stop_sequence", stop_sequence: stopSequence };
  }
  return { stop_reason: "end_turn", stop_sequence: null };
}

/** @returns why the message is incomplete, if the reason is a failure */
export function failureIn(finishReason: string | undefined): string | undefined {
  if (endingOf(finishReason) !== "failed") return undefined;
  return `The provider stopped before the message was complete (${finishReason}).`;
}

/** Token counts as in Anthropic's API: cached tokens are not part of `input_tokens`. */
export type MessageUsage = typeof noUsage;

/** For unknown usage, since clients expect numbers. */
export const noUsage = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};

/** @param usage - of chat; @param timings - of llama.cpp, which count what chat's usage may leave out */
export function messageUsage(usage: unknown, timings: unknown): MessageUsage {
  const { prompt, cached, coldPrompt, completion } = readChatUsage(usage, timings);
  const input = prompt === undefined ? coldPrompt : Math.max(0, prompt - cached);
  if (input === undefined && completion === undefined) return noUsage;
  return {
    ...noUsage,
    input_tokens: input ?? 0,
    cache_read_input_tokens: cached,
    output_tokens: completion ?? 0,
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
