import { fieldsOf } from "../../translation/chat/provider-field.ts";

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

function tokenCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
