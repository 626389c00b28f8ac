import {
  type Answer,
  answerChat,
  answerCompletion,
  answerEmbeddings,
  type Reply,
  type RequestBody,
  type ToolCall,
} from "./fake-provider-bodies.ts";
import { answerResponses } from "./fake-provider-responses.ts";

/** Operations below `/v1` that generate something. */
export type Generation = "chat/completions" | "responses" | "completions" | "embeddings";

export const GENERATIONS: readonly string[] = [
  "chat/completions",
  "responses",
  "completions",
  "embeddings",
] satisfies Generation[];

export interface Wish {
  model: string;
  number: number;
  /** respond with this many words, `w1 w2 …`, instead of the echo */
  words?: number | undefined;
  /** respond with these pieces, one per streamed chunk, instead of the echo */
  pieces?: string[] | undefined;
  hasUsage: boolean;
}

/**
 * The fake model: it repeats the user's last message, word by word, or calls the first tool with it.
 * A word is a token.
 */
export function generate(operation: Generation, body: RequestBody, wish: Wish): Answer {
  const last = lastTurn(body);
  const said = wish.pieces ?? (wish.words === undefined ? wordsOf(last.text) : count(wish.words));
  const limit = tokenLimit(body);
  const reply: Reply = {
    number: wish.number,
    model: wish.model,
    pieces: said.slice(0, limit),
    isTruncated: said.length > limit,
    toolCall: last.isToolResult ? undefined : toolCall(body, last.text, wish.number),
    inputTokens: wordsOf(last.text).length,
    hasUsage: wish.hasUsage,
  };
  return answers[operation](body, reply);
}

const answers: Record<Generation, (body: RequestBody, reply: Reply) => Answer> = {
  "chat/completions": answerChat,
  responses: answerResponses,
  completions: (_body, reply) => answerCompletion(reply),
  embeddings: answerEmbeddings,
};

interface Turn {
  text: string;
  isToolResult: boolean;
}

/** The last user message, or the tool's result when that came after it. */
function lastTurn(body: RequestBody): Turn {
  const input = body["messages"] ?? body["input"] ?? body["prompt"] ?? "";
  if (!Array.isArray(input)) return { text: textOf(input), isToolResult: false };
  for (const entry of (input as unknown[]).toReversed()) {
    if (typeof entry === "string") return { text: entry, isToolResult: false };
    const item = entry as RequestBody;
    if (item["role"] === "tool") return { text: textOf(item["content"]), isToolResult: true };
    if (item["type"] === "function_call_output") {
      return { text: textOf(item["output"]), isToolResult: true };
    }
    if (item["role"] === "user") return { text: textOf(item["content"]), isToolResult: false };
  }
  return { text: "", isToolResult: false };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as RequestBody[])
    .map((part) => (typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

function toolCall(body: RequestBody, text: string, number: number): ToolCall | undefined {
  const tools = body["tools"];
  if (!Array.isArray(tools) || body["tool_choice"] === "none") return undefined;
  const tool = (tools as RequestBody[]).find((entry) => entry["type"] === "function");
  if (tool === undefined) return undefined;
  // Chat nests what Responses writes flat.
  const declared = (tool["function"] ?? tool) as RequestBody;
  const parameters = declared["parameters"] as { properties?: object } | undefined;
  const argument = Object.keys(parameters?.properties ?? {})[0] ?? "input";
  return {
    id: `call_${number}`,
    name: String(declared["name"]),
    arguments: JSON.stringify({ [argument]: text }),
  };
}

function tokenLimit(body: RequestBody): number {
  const asked = body["max_completion_tokens"] ?? body["max_tokens"] ?? body["max_output_tokens"];
  return typeof asked === "number" ? asked : Infinity;
}

function wordsOf(text: string): string[] {
  return text.match(/\s*\S+\s*?(?=\s|$)/g) ?? [];
}

function count(words: number): string[] {
  return Array.from({ length: words }, (_, index) => `${index === 0 ? "" : " "}w${index + 1}`);
}
