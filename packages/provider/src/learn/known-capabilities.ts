import type { CapabilityValue } from "@roomhub/protocol";

/** The capabilities that calls depend on. */
export const CAPABILITY_NAMES = [
  "openResponses",
  "chatCompletions",
  "embeddings",
  "completions",
  "messages",
  "streamUsage",
  "implicitUsage",
  "storedResponses",
  "responsesCompact",
  "responsesInputTokens",
  "rerank",
  "rerankV2",
  "audioSpeech",
  "imageGenerations",
  "imageEdits",
  "audioTranscriptions",
  "audioTranslations",
] as const;
export type CapabilityName = (typeof CAPABILITY_NAMES)[number];

export type KnownCapabilities = Partial<Record<CapabilityName, CapabilityValue>>;

/** A declared `unknown` declares nothing. */
export function isDeclared(value: unknown): value is "supported" | "unsupported" {
  return value === "supported" || value === "unsupported";
}
