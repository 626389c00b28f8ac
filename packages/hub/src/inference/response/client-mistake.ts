/** Each text names a fault of the request, and none appears in the errors of a failing server. */
const mistakes: readonly RegExp[] = [
  // nlohmann's parser, on a body or a field of it
  /\[json\.exception\./,
  /\bfailed to parse (?:tools|messages|tool_choice|json_schema)\b/i,
  /\b(?:image|audio|video) input is not supported\b/i,
  /\bdoes not support (?:multimodal|image|audio|video)\b/i,
  /\brequired for image input\b/i,
  /^(?:Error: )?["'][\w.[\]]+["'] (?:is required|must |elements must )/,
  /^(?:Unsupported param|Only no echo|Cannot use both|Invalid base64|Failed to (?:download|load) image)\b/,
  /\bparam requires --jinja\b/,
  // a chat template that refuses the order of roles, say
  /\bJinja Exception\b/i,
];

/**
 * Whether a provider's 500 is about the request itself, which would fail again. llama.cpp and Ollama respond 500
 * to an image without a projector, to malformed tools, to fields of the wrong type.
 *
 * @param message - what the provider's error says
 */
export function isClientMistake(status: number, message: string): boolean {
  return status === 500 && mistakes.some((mistake) => mistake.test(message));
}
