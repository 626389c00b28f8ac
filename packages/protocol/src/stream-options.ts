const named = /stream_options|streamOptions|include_usage/i;
/** vLLM and SGLang put into a validation error what they were sent, behind the reason: pydantic's `'input': {…}`. */
const repeatedInput = /\\*["']input\\*["']\s*:|\binput_value\s*=/;
/** The field is known, and only allowed in a stream: that is the client's mistake. Ours are always in one. */
const needsStream = /\b(?:when|with|without|unless|if|requires?)\W+stream\b/i;

/**
 * Whether a provider's refusal is about `stream_options`, by which the usage of a chat stream is asked for: then the request
 * is worth another try without it. Contract §5.
 *
 * @param text - the body; some name the field, some only what is in it
 */
export function refusesStreamOptions(status: number, text: string): boolean {
  return isRefusalOf(named, status, text) && !needsStream.test(reasonIn(text));
}

/**
 * Whether a provider refuses a request for a field.
 *
 * @param field - its name; what a refusal repeats of the request is not looked at
 */
export function isRefusalOf(field: RegExp, status: number, text: string): boolean {
  return (status === 400 || status === 422) && field.test(reasonIn(text));
}

function reasonIn(text: string): string {
  const end = text.search(repeatedInput);
  return end === -1 ? text : text.slice(0, end);
}
