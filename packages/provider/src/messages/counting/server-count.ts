import { tokenCount } from "@roomhub/protocol";
import type { ServerProgram } from "../../learn/fingerprints.ts";
import { objectIn } from "../../learn/query.ts";
import type { ServableRequest } from "../../translation/surface-translation.ts";

/** A request below the server's root, and what to do with its response. */
export interface CountingStep {
  path: string;
  body: object;
  /** @returns the number of tokens, the next request, or undefined when the response is of another shape */
  read(response: Buffer): number | CountingStep | undefined;
}

type Chat = ServableRequest["chat"];

/**
 * How a server counts the tokens of a prompt without generating any: llama.cpp by its template and its tokenizer, vLLM by
 * its tokenizer, which takes messages.
 *
 * @returns undefined where the server is not known to count
 */
export function countingStep(
  program: ServerProgram | undefined,
  chat: Chat,
): CountingStep | undefined {
  switch (program) {
    case "llama.cpp":
      return { path: "/apply-template", body: promptOf(chat), read: readTemplate(chat) };
    case "vLLM":
      return { path: "/tokenize", body: promptOf(chat), read: (response) => countIn(response) };
    default:
      return undefined;
  }
}

/** Everything that becomes part of the prompt. */
function promptOf(chat: Chat): object {
  const { model, messages, tools, tool_choice, add_generation_prompt, continue_final_message } =
    chat;
  return { model, messages, tools, tool_choice, add_generation_prompt, continue_final_message };
}

function readTemplate({ model }: Chat): CountingStep["read"] {
  return (response) => {
    const { prompt } = objectIn(response) ?? {};
    if (typeof prompt !== "string") return undefined;
    return {
      path: "/tokenize",
      body: { model, content: prompt, add_special: true, parse_special: true },
      read: (tokenized) => {
        const { tokens } = objectIn(tokenized) ?? {};
        return Array.isArray(tokens) ? tokens.length : undefined;
      },
    };
  };
}

function countIn(response: Buffer): number | undefined {
  return tokenCount(objectIn(response)?.["count"]);
}

const bytesPerToken = 4;
/** About as many as Anthropic counts for an image of a megapixel. */
const tokensPerImage = 1_300;

/** Estimated tokens of a prompt: a quarter of its bytes, and a fixed number for each image. */
export function estimateTokens({ messages, tools }: ServableRequest["chat"]): number {
  const text = JSON.stringify({ messages, tools }, (key, value: unknown) =>
    key === "image_url" ? undefined : value,
  );
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken) + imageTokens(messages);
}

/** A tokenizer of text does not count images. */
export function imageTokens(messages: ServableRequest["chat"]["messages"]): number {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.filter(({ type }: { type: string }) => type === "image_url").length * tokensPerImage;
}
