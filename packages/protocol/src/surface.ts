import { z } from "zod";

/** The word events use for an inference surface. Interface §6; those behind the first two are additions of contract §5. */
export const InferenceProtocol = z.enum([
  "openResponses",
  "chatCompletions",
  "embeddings",
  "completions",
  "messages",
  "rerank",
  "audioSpeech",
  "imageGenerations",
  "imageEdits",
  "audioTranscriptions",
  "audioTranslations",
]);
export type InferenceProtocol = z.infer<typeof InferenceProtocol>;

/** What people call each surface, on the command line and in sentences. */
export const SURFACE_WORDS = {
  chatCompletions: "chat",
  openResponses: "responses",
  completions: "completions",
  embeddings: "embeddings",
  messages: "messages",
  rerank: "rerank",
  audioSpeech: "speech",
  imageGenerations: "images",
  imageEdits: "image-edits",
  audioTranscriptions: "transcription",
  audioTranslations: "translation",
} as const satisfies Record<InferenceProtocol, string>;
export type SurfaceWord = (typeof SURFACE_WORDS)[InferenceProtocol];

/**
 * What marks the end of a stream: `[DONE]` or a finish reason, a terminal event of Responses, the `message_stop` of
 * Anthropic's messages, or the terminal event of a stream of sound, pictures or a transcript. Contract §4.
 */
export type StreamMarker = "chat" | "responses" | "messages" | "media" | "none";

/** The shape of an error: OpenAI's `{error}` or Anthropic's `{type: "error", error}`. Contract §4. */
export type ErrorShape = "openai" | "anthropic";

export interface Surface {
  protocol: InferenceProtocol;
  /** Relative to the room's base URL and to the provider's; `v2/…` to the URL above these. */
  path: string;
  /** of a response that is a stream */
  marker: StreamMarker;
  errorShape: ErrorShape;
  /** The key of a participant's capabilities for this operation. */
  capability: InferenceProtocol | "responsesCompact" | "responsesInputTokens";
  /** What a response may be beside JSON and a stream; its bytes are passed as they are. */
  content: "audio" | "text" | undefined;
  /** A request may be `multipart/form-data`, too. */
  takesForm: boolean;
  /**
   * Few model servers have it: an agent announces it, `*` goes to participants that are known to have it, and only the
   * response says whether it is a stream.
   */
  isRare: boolean;
}

const transcript = { content: "text", takesForm: true } as const;

/** Every inference operation that is relayed. Add a row for a new one. */
export const SURFACES: readonly Surface[] = [
  row("chatCompletions", "chat/completions", "chat"),
  row("openResponses", "responses", "responses"),
  { ...row("openResponses", "responses/compact", "none"), capability: "responsesCompact" },
  { ...row("openResponses", "responses/input_tokens", "none"), capability: "responsesInputTokens" },
  row("completions", "completions", "chat"),
  row("embeddings", "embeddings", "none"),
  row("messages", "messages", "messages", "anthropic"),
  row("messages", "messages/count_tokens", "none", "anthropic"),
  rare("rerank", "rerank", "none"),
  rare("rerank", "v2/rerank", "none"),
  { ...rare("audioSpeech", "audio/speech", "media"), content: "audio" },
  rare("imageGenerations", "images/generations", "media"),
  { ...rare("imageEdits", "images/edits", "media"), takesForm: true },
  { ...rare("audioTranscriptions", "audio/transcriptions", "media"), ...transcript },
  { ...rare("audioTranslations", "audio/translations", "media"), ...transcript },
];

/** See {@link Surface.isRare}. */
export const RARE_CAPABILITIES: ReadonlySet<string> = new Set(
  SURFACES.filter(({ isRare }) => isRare).map(({ capability }) => capability),
);

function row(
  protocol: InferenceProtocol,
  path: string,
  marker: StreamMarker,
  errorShape: ErrorShape = "openai",
): Surface {
  const rest = { content: undefined, takesForm: false, isRare: false } as const;
  return { protocol, path, marker, errorShape, capability: protocol, ...rest };
}

function rare(protocol: InferenceProtocol, path: string, marker: StreamMarker): Surface {
  return { ...row(protocol, path, marker), isRare: true };
}
