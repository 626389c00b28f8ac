import { z } from "zod";

/** The word events use for an inference surface. Interface §6; the last two are additions of contract §5. */
export const InferenceProtocol = z.enum([
  "openResponses",
  "chatCompletions",
  "embeddings",
  "completions",
]);
export type InferenceProtocol = z.infer<typeof InferenceProtocol>;

/** What tells that a stream is over: `[DONE]` or a finish reason, or one of the Responses terminal events. */
export type StreamMarker = "chat" | "responses" | "none";

export interface Surface {
  protocol: InferenceProtocol;
  /** Below the room's base URL, and below the provider's. */
  path: string;
  marker: StreamMarker;
}

/** Every inference operation that is relayed with a JSON body. A new one is a row here. */
export const SURFACES: readonly Surface[] = [
  { protocol: "chatCompletions", path: "chat/completions", marker: "chat" },
  { protocol: "openResponses", path: "responses", marker: "responses" },
  { protocol: "completions", path: "completions", marker: "chat" },
  { protocol: "embeddings", path: "embeddings", marker: "none" },
];
