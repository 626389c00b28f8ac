import type { ServableRequest } from "../../translation/surface-translation.ts";

const bytesPerToken = 4;
/** About as many as Anthropic counts for an image of a megapixel. */
const tokensPerImage = 1_300;

/** Tokens of a prompt whose model's tokenizer is not known: a quarter of its bytes, and a sum for each image. */
export function estimateTokens({ messages, tools }: ServableRequest["chat"]): number {
  const text = JSON.stringify({ messages, tools }, (key, value: unknown) =>
    key === "image_url" ? undefined : value,
  );
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken) + imageTokens(messages);
}

/** What a tokenizer of text leaves out. */
export function imageTokens(messages: ServableRequest["chat"]["messages"]): number {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.filter(({ type }: { type: string }) => type === "image_url").length * tokensPerImage;
}
