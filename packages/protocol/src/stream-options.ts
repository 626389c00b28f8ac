const named = /stream_options|streamOptions|include_usage/i;

/**
 * Whether a provider's refusal is about `stream_options`, by which the usage of a chat stream is asked for: then the request
 * is worth another try without it. Contract §5.
 *
 * @param text - the body; some name the field, some only what is in it
 */
export function refusesStreamOptions(status: number, text: string): boolean {
  return (status === 400 || status === 422) && named.test(text);
}
