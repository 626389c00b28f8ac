import type { TranslationSource } from "../../translation/surface-translation.ts";
import { fieldsOf, tokenCount } from "../../translation/chat/provider-field.ts";
import type { ResponseEcho } from "../request/response-echo.ts";
import type { TranslatedRequest } from "../request/request.ts";

/** What every snapshot of one response has in common. */
export interface ResponseOrigin {
  id: string;
  createdAtSeconds: number;
  echo: ResponseEcho;
}

export type ResponseState =
  | { kind: "in progress" }
  | { kind: "ended"; outcome: Outcome; usage: ResponseUsage | null; atSeconds: number }
  | { kind: "failed"; error: { code: string; message: string } };

export function beginResponse(
  request: TranslatedRequest,
  source: TranslationSource,
): ResponseOrigin {
  return {
    id: source.newId("resp"),
    createdAtSeconds: source.nowSeconds(),
    echo: request.echo,
  };
}

/**
 * A response object with all 31 keys that Open Responses 2026-04-24 requires of a `ResponseResource`; what is not known
 * is null.
 *
 * @param model - the provider's own name for it
 * @param output - the items so far
 */
export function responseObject(
  origin: ResponseOrigin,
  model: string,
  output: readonly object[],
  state: ResponseState,
): object {
  return {
    id: origin.id,
    object: "response",
    created_at: origin.createdAtSeconds,
    model,
    output,
    ...stateKeys(state),
    ...origin.echo,
  };
}

function stateKeys(state: ResponseState) {
  const absent = { completed_at: null, incomplete_details: null, error: null, usage: null };
  switch (state.kind) {
    case "in progress":
      return { status: "in_progress", ...absent };
    case "failed":
      return { status: "failed", ...absent, error: state.error };
    case "ended": {
      const { outcome, usage, atSeconds } = state;
      return outcome.status === "completed"
        ? { status: outcome.status, ...absent, usage, completed_at: atSeconds }
        : {
            status: outcome.status,
            ...absent,
            usage,
            incomplete_details: { reason: outcome.reason },
          };
    }
  }
}

/** How a response ended, as in a response object. */
export type Outcome = { status: "completed" } | { status: "incomplete"; reason: string };

/** Why a chat response is incomplete, by finish reason. Any other reason is an ordinary end. */
const incompleteReasons: ReadonlyMap<string, string> = new Map([
  ["length", "max_output_tokens"],
  ["max_tokens", "max_output_tokens"],
  // Mistral, at the end of the context window
  ["model_length", "max_output_tokens"],
  ["content_filter", "content_filter"],
  // Mistral and OpenRouter: an incomplete response
  ["error", "error"],
  // SGLang and vLLM, when an operator there stopped it
  ["abort", "error"],
  // DeepSeek, when it lacks resources
  ["insufficient_system_resource", "error"],
]);

/** @param finishReason - undefined when the provider gave none and reported that it is done */
export function outcomeOf(finishReason: string | undefined): Outcome {
  const reason = finishReason === undefined ? undefined : incompleteReasons.get(finishReason);
  return reason === undefined ? { status: "completed" } : { status: "incomplete", reason };
}

/** Token counts of a response object; both details are required by Open Responses. */
export interface ResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

/** Translates a chat `usage`. @returns null when it counts neither input nor output */
export function responseUsage(usage: unknown): ResponseUsage | null {
  const counts = fieldsOf(usage);
  const input = tokenCount(counts["prompt_tokens"]);
  const output = tokenCount(counts["completion_tokens"]);
  if (input === undefined && output === undefined) return null;
  const cached = tokenCount(fieldsOf(counts["prompt_tokens_details"])["cached_tokens"]);
  const reasoning = tokenCount(fieldsOf(counts["completion_tokens_details"])["reasoning_tokens"]);
  return {
    input_tokens: input ?? 0,
    input_tokens_details: { cached_tokens: cached ?? 0 },
    output_tokens: output ?? 0,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: tokenCount(counts["total_tokens"]) ?? (input ?? 0) + (output ?? 0),
  };
}
