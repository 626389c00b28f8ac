import type { Limits } from "@roomhub/protocol";
import { HubError } from "../../errors.ts";
import type { InferenceCall } from "../inference-call.ts";

type TimeoutCode =
  | "request_timeout"
  | "provider_timeout"
  | "stream_idle_timeout"
  | "queue_timeout"
  | "batch_timeout";

/**
 * @param queuedMs - since when it waits for a participant; undefined when it does not
 * @throws HubError `request_timeout`, `queue_timeout` or `batch_timeout`
 */
export function checkRequest(
  { requestMs, queueWaitMs, batchWaitMs }: Limits,
  nowMs: number,
  { startedMs, request }: Pick<InferenceCall, "startedMs" | "request">,
  queuedMs: number | undefined,
): void {
  // While its body arrives, only the client's silence counts.
  const sinceMs = Math.max(startedMs, request.upload?.lastByteMs ?? 0);
  if (nowMs - sinceMs > requestMs) {
    throw timeout("request_timeout", "The whole request took", requestMs, "REQUEST_MS");
  }
  if (queuedMs === undefined) return;
  const waitedMs = nowMs - queuedMs;
  if (request.isBatch) {
    if (waitedMs <= batchWaitMs) return;
    throw timeout(
      "batch_timeout",
      "Other requests took all slots for",
      batchWaitMs,
      "BATCH_WAIT_MS",
    );
  }
  if (waitedMs <= queueWaitMs) return;
  const what = "No participant became free or ready for";
  throw timeout("queue_timeout", what, queueWaitMs, "QUEUE_WAIT_MS");
}

/**
 * @param waitingSinceMs - since when the first byte is awaited; undefined when it has come
 * @param lastByteMs - when the provider last sent anything
 * @throws HubError `provider_timeout` or `stream_idle_timeout`
 */
export function checkProvider(
  { firstByteMs, streamIdleMs }: Limits,
  nowMs: number,
  waitingSinceMs: number | undefined,
  lastByteMs: number,
): void {
  if (waitingSinceMs === undefined) {
    if (nowMs - lastByteMs <= streamIdleMs) return;
    const what = "The provider sent no data for";
    throw timeout("stream_idle_timeout", what, streamIdleMs, "STREAM_IDLE_MS");
  }
  if (nowMs - waitingSinceMs <= firstByteMs) return;
  throw timeout("provider_timeout", "The provider's first byte took", firstByteMs, "FIRST_BYTE_MS");
}

/** @param knob - the limit's environment variable, without `ROOMHUB_` */
function timeout(code: TimeoutCode, what: string, limitMs: number, knob: string): HubError {
  return new HubError(
    code,
    `${what} more than ${Math.round(limitMs / 100) / 10} s (limit ROOMHUB_${knob}).`,
    { hint: hints[code] ?? timeoutHint },
  );
}

const hints: Partial<Record<TimeoutCode, string>> = {
  queue_timeout: "See what it waited for: roomhub route CODE --model MODEL",
  batch_timeout: "Send it again later.",
};
const timeoutHint =
  "The model may be loading: try again; roomhub doctor shows where the time goes.";
