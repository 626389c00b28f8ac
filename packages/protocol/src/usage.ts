import { parseJson } from "./json-object.ts";

/** Token counts reported by the provider; missing and invalid ones are absent. Contract §5. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  /** Prompt tokens that the provider took from its cache. Part of `inputTokens`. */
  cachedInputTokens?: number;
  /** of sound, where the provider counts those */
  audioSeconds?: number;
  /** pictures in the response */
  images?: number;
  /** ms that the provider says it took to process the other prompt tokens */
  promptMs?: number;
}

/**
 * Reads a provider's `usage` value as chat, Responses or Anthropic's messages spell it. Anything else is ignored.
 * Anthropic counts cached tokens apart from `input_tokens`: here they are part of the input.
 */
export function readUsage(value: unknown): Usage {
  if (typeof value !== "object" || value === null) return {};
  const counts = value as Record<string, unknown>;
  const outputTokens = tokenCount(counts["completion_tokens"] ?? counts["output_tokens"]);
  const totalTokens = tokenCount(counts["total_tokens"]);
  const inputTokens = inputCount(counts, outputTokens, totalTokens);
  // Zeros at the start of a messages stream are placeholders for unknown counts.
  if (inputTokens === 0 && outputTokens === 0 && "input_tokens" in counts) return {};
  const usage = usageOf(inputTokens, outputTokens, totalTokens);
  if (isDuration(counts["seconds"])) usage.audioSeconds = counts["seconds"];
  return withCached(usage, cachedTokens(counts));
}

/** Tokens read from and written to the cache, which only Anthropic counts beside the input. */
const apartFromInput = ["cache_read_input_tokens", "cache_creation_input_tokens"];

function inputCount(
  counts: Record<string, unknown>,
  output: number | undefined,
  total: number | undefined,
): number | undefined {
  const own = tokenCount(counts["prompt_tokens"] ?? counts["input_tokens"]);
  if (own === undefined) return undefined;
  // LiteLLM names the cached tokens as Anthropic does and counts them as input, as its total shows.
  if (total !== undefined && total === sum(own, output)) return own;
  const apart = apartFromInput.reduce((total, name) => total + (tokenCount(counts[name]) ?? 0), 0);
  return tokenCount(own + apart);
}

/** As chat, Responses and Anthropic's messages spell it, in this order. */
function cachedTokens(counts: Record<string, unknown>): number | undefined {
  const details = counts["prompt_tokens_details"] ?? counts["input_tokens_details"];
  const { cached_tokens: cached } = (details ?? {}) as { cached_tokens?: unknown };
  return tokenCount(cached) ?? tokenCount(counts["cache_read_input_tokens"]);
}

function withCached(usage: Usage, cachedInputTokens: number | undefined): Usage {
  if (cachedInputTokens !== undefined) usage.cachedInputTokens = cachedInputTokens;
  return usage;
}

/** Of sound, in seconds: `usage.seconds`, and the `duration` of a verbose transcription. */
export function isDuration(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function withPromptMs(usage: Usage, promptMs: unknown): Usage {
  if (typeof promptMs === "number" && promptMs > 0) usage.promptMs = promptMs;
  return usage;
}

/** Reads llama.cpp's `timings`, which count cached and processed prompt tokens separately. */
function readTimings(value: unknown): Usage {
  if (typeof value !== "object" || value === null) return {};
  const counts = value as Record<string, unknown>;
  const inputTokens = sum(tokenCount(counts["prompt_n"]), tokenCount(counts["cache_n"] ?? 0));
  const usage = usageOf(inputTokens, tokenCount(counts["predicted_n"]), undefined);
  if (inputTokens === undefined && usage.outputTokens === undefined) return {};
  return withPromptMs(withCached(usage, tokenCount(counts["cache_n"])), counts["prompt_ms"]);
}

/**
 * The usage at the start of a messages stream, updated by the usage at its end. Such streams report no total. When the end
 * reports the input again without cached tokens, those of the start are added.
 */
export function mergeUsage(start: Usage, end: Usage): Usage {
  const cached = end.cachedInputTokens === undefined ? (start.cachedInputTokens ?? 0) : 0;
  const inputTokens = sum(end.inputTokens, cached) ?? start.inputTokens;
  const usage = usageOf(inputTokens, end.outputTokens ?? start.outputTokens, undefined);
  return withCached(usage, end.cachedInputTokens ?? start.cachedInputTokens);
}

/** Contract §5: over the whole duration. @returns undefined without a count or when no time passed */
export function tokensPerSecond({ outputTokens }: Usage, durationMs: number): number | undefined {
  return outputTokens === undefined || durationMs <= 0
    ? undefined
    : outputTokens / (durationMs / 1000);
}

function usageOf(
  inputTokens: number | undefined,
  outputTokens: number | undefined,
  reportedTotal: number | undefined,
): Usage {
  const totalTokens = reportedTotal ?? sum(inputTokens, outputTokens);
  const usage: Usage = {};
  if (inputTokens !== undefined) usage.inputTokens = inputTokens;
  if (outputTokens !== undefined) usage.outputTokens = outputTokens;
  if (totalTokens !== undefined) usage.totalTokens = totalTokens;
  return usage;
}

/** Limits the work for a thousand broken usage objects, or an endless one. */
const maxTries = 16;
const maxObjectLength = 4_096;

/**
 * The last usage object in the end of a stream, or its last `timings`. From `timings` also come what the usage object lacks:
 * the cached tokens, and how long the prompt took. Searching the text is safe: inside a JSON string quotes are escaped, so `"usage":` cannot match.
 */
export function findUsage(text: string): Usage {
  const usage = findLast(text, '"usage"', readUsage);
  const timings = findLast(text, '"timings"', readTimings);
  if (usage === undefined) return timings ?? {};
  const cached = usage.cachedInputTokens ?? timings?.cachedInputTokens;
  return withPromptMs(withCached(usage, cached), timings?.promptMs);
}

/** @param key - with quotes; @returns undefined when no such object contains counts */
function findLast(text: string, key: string, read: (value: unknown) => Usage): Usage | undefined {
  let tries = 0;
  for (let at = text.lastIndexOf(key); at >= 0; at = text.lastIndexOf(key, at - 1)) {
    const open = /^"\w+"\s*:\s*\{/.exec(text.slice(at, at + 32));
    if (open !== null) {
      const usage = read(parseObjectAt(text, at + open[0].length - 1));
      if (Object.keys(usage).length > 0) return usage;
      if (++tries === maxTries) break;
    }
    if (at === 0) break;
  }
  return undefined;
}

function parseObjectAt(text: string, start: number): unknown {
  const object = objectAt(text.slice(start, start + maxObjectLength));
  return object === undefined ? undefined : parseJson(object);
}

/** Scans from brace to brace, not by character: usage objects contain no strings with braces. */
function objectAt(text: string): string | undefined {
  let depth = 0;
  let open = 0;
  for (let close = text.indexOf("}"); close >= 0; close = text.indexOf("}", close + 1)) {
    for (; open >= 0 && open < close; open = text.indexOf("{", open + 1)) depth++;
    if (--depth === 0) return text.slice(0, close + 1);
  }
  return undefined;
}

/** A number of tokens; undefined for anything else. */
export function tokenCount(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : tokenCount(left + right);
}
