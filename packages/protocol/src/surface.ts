import { z } from "zod";

/** The word events use for an inference surface. Interface §6; the last three are additions of contract §5. */
export const InferenceProtocol = z.enum([
  "openResponses",
  "chatCompletions",
  "embeddings",
  "completions",
  "messages",
]);
export type InferenceProtocol = z.infer<typeof InferenceProtocol>;

/**
 * What marks the end of a stream: `[DONE]` or a finish reason, a terminal event of Responses, or the `message_stop` of
 * Anthropic's messages. Contract §4.
 */
export type StreamMarker = "chat" | "responses" | "messages" | "none";

/** The shape of an error: OpenAI's `{error}` or Anthropic's `{type: "error", error}`. Contract §4. */
export type ErrorShape = "openai" | "anthropic";

export interface Surface {
  protocol: InferenceProtocol;
  /** Relative to the room's base URL and to the provider's. */
  path: string;
  marker: StreamMarker;
  errorShape: ErrorShape;
  /** The key of a participant's capabilities for this operation. */
  capability: string;
}

/** Every inference operation relayed with a JSON body. Add a row for a new one. */
export const SURFACES: readonly Surface[] = [
  row("chatCompletions", "chat/completions", "chat"),
  row("openResponses", "responses", "responses"),
  { ...row("openResponses", "responses/compact", "none"), capability: "responsesCompact" },
  { ...row("openResponses", "responses/input_tokens", "none"), capability: "responsesInputTokens" },
  row("completions", "completions", "chat"),
  row("embeddings", "embeddings", "none"),
  row("messages", "messages", "messages", "anthropic"),
  row("messages", "messages/count_tokens", "none", "anthropic"),
];

function row(
  protocol: InferenceProtocol,
  path: string,
  marker: StreamMarker,
  errorShape: ErrorShape = "openai",
): Surface {
  return { protocol, path, marker, errorShape, capability: protocol };
}
