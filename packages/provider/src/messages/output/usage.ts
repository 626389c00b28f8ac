import { fieldsOf } from "../../translation/chat/provider-field.ts";

/** Token counts as Anthropic has them: cached tokens are counted apart from `input_tokens`. */
export interface MessageUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens: number;
}

/** Where nothing is known, since every reader expects numbers. */
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

function tokenCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}
