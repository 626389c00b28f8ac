import { isObject, parseObject } from "./json-object.ts";
import type { JsonObject } from "./json-object.ts";
import type { ErrorCode } from "./error.ts";
import type { ErrorShape } from "./surface.ts";

/** A provider refuses a request because it does not fit into its model's context. */
export interface ContextRefusal {
  /** the context, where the provider names it */
  contextTokens: number | undefined;
  /** the prompt without what it was to generate, where the provider names it */
  promptTokens: number | undefined;
}

const maxMessageLength = 2_048;

/** OpenAI's `code` of such an error. */
const openAiCode = "context_length_exceeded" satisfies ErrorCode;

/** Its `type` or `code`: the first is llama.cpp's, the second is used by others than OpenAI, too. */
const names: ReadonlySet<unknown> = new Set(["exceed_context_size_error", openAiCode]);

/** Messages of servers that have no code for it; `prompt` and `context` are numbers of tokens. */
const sentences: readonly RegExp[] = [
  // llama.cpp
  /request \((?<prompt>\d+) tokens\) exceeds the available context size \((?<context>\d+) tokens\)/,
  // OpenAI, Azure, vLLM, OpenRouter: a prompt and max_tokens together, or the prompt alone
  /maximum context length is (?<context>\d+) tokens?.*?(?:\((?<prompt>\d+) (?:in the messages|of text input|in your prompt)|(?:messages|prompt) (?:resulted in|contains at least) (?<prompt2>\d+)|(?:request|prompt) (?:has|contains at least) (?<prompt3>\d+) input tokens)/s,
  /maximum context length is (?<context>\d+) tokens/,
  // vLLM
  /prompt \(length (?<prompt>\d+)\) is longer than the maximum model length of (?<context>\d+)/,
  // SGLang
  /input \((?<prompt>\d+) tokens\) is longer than the model's context length \((?<context>\d+) tokens\)/,
  /maximum context length of (?<context>\d+) tokens.*?(?<prompt>\d+) tokens from the input/s,
  // Anthropic
  /prompt is too long: (?<prompt>\d+) tokens > (?<context>\d+) maximum/,
  /^prompt is too long/,
  /input length and `max_tokens` exceed context limit: (?<prompt>\d+) \+ \d+ > (?<context>\d+)/,
  // Gemini
  /input token count \(?(?<prompt>\d+)\)? exceeds the maximum number of tokens allowed \(?(?<context>\d+)/,
  // Mistral
  /Prompt contains (?<prompt>\d+) tokens.*?too large for model with (?<context>\d+) maximum context length/s,
  // LM Studio
  /first (?<prompt>\d+) tokens when context the overflows.*?context length of only (?<context>\d+) tokens/s,
  /tokens to keep from the initial prompt is greater than the context length/,
  // TGI
  /`inputs` must have less than (?<context>\d+) tokens\. Given: (?<prompt>\d+)/,
  /`inputs` tokens \+ `max_new_tokens` must be <= (?<context>\d+)\. Given: (?<prompt>\d+)/,
  // Ollama
  /input (?:length )?exceeds (?:the |maximum )*context (?:length|size)/,
  // llama.cpp before it named its numbers, Bedrock
  /exceeds the available context size/,
  /Input is too long for requested model/,
];

/**
 * Reads a provider's error as a refusal of a request that is too long for its context. llama.cpp and LM Studio send it
 * with 400 or in a stream, Ollama with 400 or 500, clouds with 400, 413 or 422.
 *
 * @param text - the body, or the data of an event
 * @returns undefined when the error is another one
 */
export function readContextRefusal(text: string): ContextRefusal | undefined {
  const error = errorIn(text);
  if (error === undefined) return undefined;
  const { type, code, message, n_prompt_tokens: prompt, n_ctx: context } = error;
  // It begins with what is wrong; a long one must not keep the patterns busy.
  const said = typeof message === "string" ? message.slice(0, maxMessageLength) : "";
  const found = sentences.find((sentence) => sentence.test(said));
  if (found === undefined && !names.has(type) && !names.has(code)) return undefined;
  const numbers = found?.exec(said)?.groups ?? {};
  const inText = numbers["prompt"] ?? numbers["prompt2"] ?? numbers["prompt3"];
  return {
    contextTokens: tokensIn(context ?? numbers["context"]),
    promptTokens: tokensIn(prompt ?? inText),
  };
}

/**
 * The error in the form that clients recognise, for every server: coding agents compact a conversation when they see
 * OpenAI's code, and on Anthropic's surfaces Anthropic's words.
 *
 * @param text - the body, or the data of an event
 * @returns the same text where nothing has to change, or its error is no object
 */
export function recognisableRefusal(
  text: string,
  refusal: ContextRefusal,
  shape: ErrorShape,
): string {
  const body = parseObject(text);
  const error = body === undefined ? undefined : errorObjectIn(body);
  if (error === undefined || typeof error["message"] !== "string") return text;
  const [key, value] =
    shape === "anthropic"
      ? (["message", promptTooLong(refusal, error["message"])] as const)
      : (["code", openAiCode] as const);
  if (error[key] === value) return text;
  // It was parsed here.
  Object.assign(error, { [key]: value });
  return JSON.stringify(body);
}

/**
 * The error's message in Anthropic's words. Anthropic's clients compact a conversation at no others.
 *
 * @param message - the server's own
 */
export function promptTooLong(
  { contextTokens = Infinity, promptTokens = 0 }: ContextRefusal,
  message: string,
): string {
  if (message.toLowerCase().includes("prompt is too long")) return message;
  const isCounted = promptTokens > contextTokens;
  const counts = isCounted ? `${promptTokens} tokens > ${contextTokens} maximum. ` : "";
  return `prompt is too long: ${counts}${message}`;
}

function tokensIn(value: unknown): number | undefined {
  const tokens = Number(value ?? Number.NaN);
  return Number.isSafeInteger(tokens) && tokens > 0 ? tokens : undefined;
}

function errorIn(text: string): JsonObject | undefined {
  // Also text that is no JSON, such as an HTML page.
  const body = parseObject(text);
  if (body === undefined) return undefined;
  const { error } = body;
  return typeof error === "string" ? { message: error } : errorObjectIn(body);
}

function errorObjectIn(body: JsonObject): JsonObject | undefined {
  const { response, error, type, object } = body;
  // A Responses stream has it in its response.
  if (isObject(response) && isObject(response["error"])) return response["error"];
  if (isObject(error)) return error;
  return error === undefined && (type === "error" || object === "error") ? body : undefined;
}
