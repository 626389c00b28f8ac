import { readStreamedResponse, readJsonResponse } from "../chat/response-reader.ts";

/** When the parts of a response arrived, ms since the request was sent. */
export interface ResponseTiming {
  /** of its headers */
  byteMs: number;
  /** of its first text or reasoning; undefined when there was none */
  tokenMs: number | undefined;
  endMs: number;
  isStream: boolean;
  /** why it failed; undefined when it is complete */
  failure: string | undefined;
}

/**
 * Reads a response to its end and measures when its parts arrive.
 *
 * @param response - whose headers have just arrived
 * @param watch - ms since the request was sent
 */
export async function timeResponse(
  response: Response,
  watch: () => number,
): Promise<ResponseTiming> {
  const byteMs = watch();
  let tokenMs: number | undefined;
  const note = () => {
    tokenMs ??= watch();
  };
  const listener = { onText: note, onReasoning: note };
  const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  const end =
    isStream && response.body !== null
      ? await readStreamedResponse(response.body, "chat", listener)
      : readJsonResponse(await response.text(), "chat", listener);
  const failure = end.kind === "failed" ? end.message : undefined;
  return { byteMs, tokenMs, endMs: watch(), isStream, failure };
}

/** A response that took the hub this long from its first token to its end cannot arrive in one piece by chance. */
const minMeasuredMs = 200;

/**
 * How a stream arrived, compared with what the hub measured. A buffering proxy passes nothing on before the end.
 *
 * @param hub - when the first token and the end left the hub, ms since the request arrived there
 * @returns undefined when the response was too short to decide
 */
export function paceOf(
  { isStream, tokenMs, endMs }: ResponseTiming,
  hub: { ttftMs: number; durationMs: number },
): "incrementally" | "at once" | undefined {
  const hubMs = hub.durationMs - hub.ttftMs;
  if (!isStream || tokenMs === undefined || hubMs < minMeasuredMs) return undefined;
  return endMs - tokenMs < hubMs / 4 ? "at once" : "incrementally";
}
