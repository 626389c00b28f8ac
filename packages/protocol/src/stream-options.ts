const named = /stream_options|streamOptions|include_usage/i;
/** vLLM and SGLang repeat the input in a validation error, after the reason: pydantic's `'input': {…}`. */
const repeatedInput = /\\*["']input\\*["']\s*:|\binput_value\s*=/;
/** The field is known but only allowed in a stream: the client's mistake, since the hub adds it only to streams. */
const needsStream = /\b(?:when|with|without|unless|if|requires?)\W+stream\b/i;

/**
 * Whether a provider rejects `stream_options`, which requests the usage of a chat stream; the request is then retried
 * without it. Contract §5.
 *
 * @param text - the body; some providers name the field, some only its content
 */
export function refusesStreamOptions(status: number, text: string): boolean {
  return isRefusalOf(named, status, text) && !needsStream.test(reasonIn(text));
}

/**
 * Whether a provider rejects a request because of a field.
 *
 * @param field - matches its name; input repeated in the error is ignored
 */
export function isRefusalOf(field: RegExp, status: number, text: string): boolean {
  return (status === 400 || status === 422) && field.test(reasonIn(text));
}

function reasonIn(text: string): string {
  const end = text.search(repeatedInput);
  return end === -1 ? text : text.slice(0, end);
}
