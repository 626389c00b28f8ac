import type { Surface } from "./surface.ts";
import type { Usage } from "./usage.ts";

const bytesPerToken = 4;

/** How many tokens so many bytes are likely to have. */
export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** What is known of a request and its response. */
export interface CountedResponse {
  requestBytes: number;
  usage: Usage;
  /** of a stream: its pieces of content so far, about one per token; undefined for another response */
  contentEvents: number | undefined;
  responseBytes: number;
  /** The response was complete. */
  isWhole: boolean;
}

/**
 * The tokens that a request counts for in a budget: those of the provider's usage, cached ones included. Without usage,
 * and at least when the response was cut off: a quarter of the request's bytes, plus one token for each chunk of a stream
 * that has content, or a quarter of the bytes of another response.
 */
export function tokenCost(surface: Surface, counted: CountedResponse): number {
  if (!isCharged(surface)) return 0;
  const { requestBytes, usage, contentEvents, responseBytes, isWhole } = counted;
  if (surface.isRare) return reportedTokens(usage);
  const estimatedInput = estimatedTokens(requestBytes);
  const hasText = surface.protocol !== "embeddings";
  const estimatedOutput = hasText ? (contentEvents ?? estimatedTokens(responseBytes)) : 0;
  const { inputTokens = estimatedInput, outputTokens = estimatedOutput, totalTokens = 0 } = usage;
  const total = Math.max(inputTokens + outputTokens, totalTokens);
  // Usage at the beginning of a stream does not include its end.
  return isWhole ? total : Math.max(total, estimatedInput + estimatedOutput);
}

/** Bytes of sound and pictures say nothing about tokens. */
function reportedTokens({ inputTokens = 0, outputTokens = 0, totalTokens = 0 }: Usage): number {
  return Math.max(inputTokens + outputTokens, totalTokens);
}

/** Counting the tokens of a prompt costs none. */
export function isCharged({ path }: Surface): boolean {
  return !path.includes("token");
}
