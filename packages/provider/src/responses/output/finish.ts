/** How a response ended, in the words of a response object. */
export type Outcome = { status: "completed" } | { status: "incomplete"; reason: string };

/** Why a chat response is not whole, by finish reason. Any other reason is an ordinary end. */
const incompleteReasons: ReadonlyMap<string, string> = new Map([
  ["length", "max_output_tokens"],
  ["max_tokens", "max_output_tokens"],
  // Mistral, at the end of the context window
  ["model_length", "max_output_tokens"],
  ["content_filter", "content_filter"],
  // Mistral and OpenRouter: what was generated so far, though it is not all
  ["error", "error"],
  // SGLang and vLLM, when an operator there stopped it
  ["abort", "error"],
  // DeepSeek, when it has no machine to go on with
  ["insufficient_system_resource", "error"],
]);

/** @param finishReason - undefined when the provider gave none and reported that it is done */
export function outcomeOf(finishReason: string | undefined): Outcome {
  const reason = finishReason === undefined ? undefined : incompleteReasons.get(finishReason);
  return reason === undefined ? { status: "completed" } : { status: "incomplete", reason };
}
