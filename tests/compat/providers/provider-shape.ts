import type { Script } from "./script.ts";

/** Paths below the base URL that generate. */
export type ShapeSurface =
  | "chat/completions"
  | "responses"
  | "messages"
  | "messages/count_tokens"
  | "embeddings";

/** A response that was recorded completely. Objects are sent as JSON, texts as plain text. */
export interface RecordedAnswer {
  status: number;
  body: object | string;
}

/** What distinguishes one model server from another on the wire, besides its recordings in `fixtures/<recordings>/`. */
export interface ProviderShape {
  /** with the version the recordings follow */
  name: string;
  recordings: "ollama" | "lm-studio" | "llama-cpp" | "llama-server" | "vllm" | "openai";
  /** as the server lists it */
  model: string;
  /** the text of its model, the same in all recordings */
  says: Script;
  surfaces: readonly ShapeSurface[];
  /** the file of recordings by which it is recognised */
  fingerprints: "fingerprints" | "fingerprints-before-responses";
  /** its `server` header */
  server: string | undefined;
  /** of event streams */
  lineEnd: "\n" | "\r\n";
  /** whether usage is in a chunk of its own and only on request, or always in the final chunk */
  chatUsage: "when-asked" | "on-the-finish-chunk";
  /** The field of a chat response that contains reasoning. */
  thoughtField: "reasoning" | "reasoning_content" | undefined;
  /** A path, or a method on it, that the server does not have. */
  unknownPath: (method: string, path: string) => RecordedAnswer;
  /** A body without model and messages, as probes send it. */
  emptyBody: RecordedAnswer;
  /** A prompt that is too long. */
  refusal: RecordedAnswer;
  /** The same on `messages`, where it is no error of Anthropic's shape. */
  messagesRefusal?: RecordedAnswer;
}

/** Anthropic's error shape, on `messages` of every server that has it. */
export const anthropicRefusal: RecordedAnswer = {
  status: 400,
  body: {
    type: "error",
    error: {
      type: "invalid_request_error",
      message: "prompt is too long: the context holds 8192 tokens",
    },
  },
};
