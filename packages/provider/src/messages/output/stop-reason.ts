/** How a message ended: Anthropic's `stop_reason` and `stop_sequence`. */
export interface MessageStop {
  stop_reason: "end_turn" | "max_tokens" | "stop_sequence" | "tool_use" | "refusal";
  stop_sequence: string | null;
}

export interface ChatStop {
  /** undefined when the provider gave none and reported that it is done */
  finishReason: string | undefined;
  /** the stop text that was found, where the provider names it */
  stopSequence: string | undefined;
  hasCalls: boolean;
  hasRefusal: boolean;
}

/** Mistral ends with `model_length` at the end of the context window. */
const cut: ReadonlySet<string | undefined> = new Set(["length", "max_tokens", "model_length"]);

/** Reasons that are failures: what was generated so far is not all, and was not to be. */
const failures: ReadonlySet<string> = new Set([
  // Mistral and OpenRouter
  "error",
  // SGLang and vLLM, when an operator there stopped it
  "abort",
  // DeepSeek, when it has no machine to go on with
  "insufficient_system_resource",
]);

/** A message with calls waits for their results, whatever reason the server gives. */
export function messageStop(stop: ChatStop): MessageStop {
  const { finishReason, stopSequence, hasCalls, hasRefusal } = stop;
  if (cut.has(finishReason)) return { stop_reason: "max_tokens", stop_sequence: null };
  if (finishReason === "content_filter") return { stop_reason: "refusal", stop_sequence: null };
  if (hasCalls) return { stop_reason: "tool_use", stop_sequence: null };
  if (hasRefusal) return { stop_reason: "refusal", stop_sequence: null };
  if (stopSequence !== undefined) {
    return { stop_reason: "stop_sequence", stop_sequence: stopSequence };
  }
  return { stop_reason: "end_turn", stop_sequence: null };
}

/** @returns why there is no whole message, where the reason says so */
export function failureIn(finishReason: string | undefined): string | undefined {
  if (finishReason === undefined || !failures.has(finishReason)) return undefined;
  return `The provider stopped before the message was complete (${finishReason}).`;
}
