import { readStreamedResponse, readJsonResponse } from "../chat/response-reader.ts";

/** When the parts of an answer were here, ms from the moment it was asked for. */
export interface ResponseTiming {
  /** of its head */
  byteMs: number;
  /** of its first text or reasoning; undefined when there was none */
  tokenMs: number | undefined;
  endMs: number;
  isStream: boolean;
  /** what was wrong with it; undefined when it was whole */
  failure: string | undefined;
}

/**
 * Reads an answer to its end, by a watch.
 *
 * @param response - whose head is just here
 * @param watch - ms since it was asked for
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

/** From its first token to its end an answer took the hub at least this long: too long to come in one piece by chance. */
const minMeasuredMs = 200;

/**
 * How a stream came, by what the hub saw of it. Whoever buffers a stream lets nothing of it through before its end.
 *
 * @param hub - when the first token and the end left the hub, ms from the request's arrival there
 * @returns undefined when it was too short to tell
 */
export function paceOf(
  { isStream, tokenMs, endMs }: ResponseTiming,
  hub: { ttftMs: number; durationMs: number },
): "piece by piece" | "at once" | undefined {
  const hubMs = hub.durationMs - hub.ttftMs;
  if (!isStream || tokenMs === undefined || hubMs < minMeasuredMs) return undefined;
  return endMs - tokenMs < hubMs / 4 ? "at once" : "piece by piece";
}
