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
 * What tells that a stream is over: `[DONE]` or a finish reason, one of the Responses terminal events, or the
 * `message_stop` of Anthropic's messages. Contract §4.
 */
export type StreamMarker = "chat" | "responses" | "messages" | "none";

/** Whose shape an error has: OpenAI's `{error}` or Anthropic's `{type: "error", error}`. Contract §4. */
export type ErrorShape = "openai" | "anthropic";

export interface Surface {
  protocol: InferenceProtocol;
  /** Below the room's base URL, and below the provider's. */
  path: string;
  marker: StreamMarker;
  errorShape: ErrorShape;
  /** The key of a participant's capabilities that tells whether it has this operation. */
  capability: string;
}

/** Every inference operation that is relayed with a JSON body. A new one is a row here. */
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
