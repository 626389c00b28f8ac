import { z } from "zod";

/** Contract §1: `unknown` is tried, `unsupported` excludes a candidate. */
export const CapabilityValue = z.enum(["supported", "unsupported", "unknown"]);
export type CapabilityValue = z.infer<typeof CapabilityValue>;

/**
 * What a participant supports. Interface §2; the optional keys are additions, and further keys are kept.
 *
 * A surface served by translation is `supported`.
 */
export const Capabilities = z.looseObject({
  openResponses: CapabilityValue,
  chatCompletions: CapabilityValue,
  embeddings: CapabilityValue.optional(),
  completions: CapabilityValue.optional(),
  messages: CapabilityValue.optional(),
  /** Accepts `stream_options.include_usage` in a chat stream. The hub adds it only where this is `supported`. */
  streamUsage: CapabilityValue.optional(),
  /** A chat stream reports usage without `stream_options`, so the hub adds none. */
  implicitUsage: CapabilityValue.optional(),
  /** Stores responses: `previous_response_id` and `GET /responses/:id` work. */
  storedResponses: CapabilityValue.optional(),
  /** Has `POST /responses/compact`. */
  responsesCompact: CapabilityValue.optional(),
  /** Has `POST /responses/input_tokens`. */
  responsesInputTokens: CapabilityValue.optional(),
  rerank: CapabilityValue.optional(),
  audioSpeech: CapabilityValue.optional(),
  imageGenerations: CapabilityValue.optional(),
  imageEdits: CapabilityValue.optional(),
  audioTranscriptions: CapabilityValue.optional(),
  audioTranslations: CapabilityValue.optional(),
});
export type Capabilities = z.infer<typeof Capabilities>;
