import { z } from "zod";

/** Contract §1: `unknown` is tried, `unsupported` removes a candidate. */
export const CapabilityValue = z.enum(["supported", "unsupported", "unknown"]);
export type CapabilityValue = z.infer<typeof CapabilityValue>;

/**
 * What a participant can do. Interface §2; the optional keys are additions, and further ones are kept.
 *
 * A surface that is served by translation counts as `supported`.
 */
export const Capabilities = z.looseObject({
  openResponses: CapabilityValue,
  chatCompletions: CapabilityValue,
  embeddings: CapabilityValue.optional(),
  completions: CapabilityValue.optional(),
  messages: CapabilityValue.optional(),
  /** Takes `stream_options.include_usage` in a chat stream. Asked for only where this is `supported`. */
  streamUsage: CapabilityValue.optional(),
  /** A chat stream reports its tokens without `stream_options`, so the hub adds none. */
  implicitUsage: CapabilityValue.optional(),
  /** Keeps responses, so that `previous_response_id` and `GET /responses/:id` mean something there. */
  storedResponses: CapabilityValue.optional(),
  /** Has `POST /responses/compact`. */
  responsesCompact: CapabilityValue.optional(),
  /** Has `POST /responses/input_tokens`. */
  responsesInputTokens: CapabilityValue.optional(),
});
export type Capabilities = z.infer<typeof Capabilities>;
