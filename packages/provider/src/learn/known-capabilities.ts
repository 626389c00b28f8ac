import type { CapabilityValue } from "@roomhub/protocol";

/** What is looked for: those of `Capabilities` that calls depend on. */
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
] as const;
export type CapabilityName = (typeof CAPABILITY_NAMES)[number];

export type KnownCapabilities = Partial<Record<CapabilityName, CapabilityValue>>;

/** `unknown` is what people say who do not know. */
export function isDeclared(value: unknown): value is "supported" | "unsupported" {
  return value === "supported" || value === "unsupported";
}
