import { isObject, readUsage } from "@roomhub/protocol";
import type { SendResult } from "./send-request.ts";

/** What to do after a request was sent. */
export type Verdict =
  /** it is the result */
  | { kind: "completed" }
  /** it is the result, an error; the same request would fail again */
  | { kind: "failed" }
  /** the request was lost while it ran: it is sent again, but not without end */
  | { kind: "lost" }
  /** it did not run, and others like it would not run now either */
  | { kind: "refused"; reason: string; retryAfterMs: number | undefined }
  /** nothing of this batch can run until a person acts */
  | { kind: "hopeless"; code: string; reason: string };

/**
 * @param mayAppear - whether a model that the room does not have now may come back: it was there once, or the room is empty
 */
export function judge(result: SendResult, mayAppear: boolean): Verdict {
  if (result.kind === "too-long") return { kind: "failed" };
  if (result.kind === "broken") return { kind: "lost" };
  if (result.kind === "unreachable") {
    const reason = `the hub is unreachable: ${result.reason}`;
    return { kind: "refused", reason, retryAfterMs: undefined };
  }
  const { status, headers } = result;
  if (status >= 200 && status < 300) return { kind: "completed" };
  const { code, message } = errorIn(result.value);
  const isFinal = headers["x-should-retry"] === "false";
  const reason = message === "" ? `status ${status}` : message;
  const refused = { kind: "refused", reason, retryAfterMs: retryAfterMs(headers) } as const;
  if (isOfClosedRoom(status, headers) || code === "client_blocked") {
    return { kind: "hopeless", code, reason };
  }
  if (code === "room_not_found") return isFinal ? { kind: "hopeless", code, reason } : refused;
  if (code === "model_not_found") return mayAppear ? refused : { kind: "failed" };
  // Every request of the model fails there, until its owner gives the agent other credentials.
  if (code === "provider_auth_failed") return refused;
  if (status === 429 || status === 503) return refused;
  const isLost = status >= 500 || lostStatuses.has(status);
  return { kind: isLost && !isFinal ? "lost" : "failed" };
}

/** The hub had no whole request in time, or belongs to a cluster in which the room moves. */
const lostStatuses: ReadonlySet<number> = new Set([408, 421, 499]);

type Headers = Readonly<Record<string, string | undefined>>;

/** A 401 without this realm is a model server's. Contract §9. */
function isOfClosedRoom(status: number, headers: Headers): boolean {
  return status === 401 && headers["www-authenticate"]?.includes('realm="roomhub"') === true;
}

function errorIn(value: unknown): { code: string; message: string } {
  const error = isObject(value) ? value["error"] : undefined;
  const { code, message } = isObject(error) ? error : { code: "", message: "" };
  return { code: textOf(code), message: textOf(message) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function retryAfterMs(headers: Headers): number | undefined {
  const seconds = Number(headers["retry-after"] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/**
 * What the hub and the model server say about a request.
 *
 * @returns `queueMs`: for which it waited at the room, undefined when no participant was called; `outputTokens`: 0 when the
 * model server reports none
 */
export function factsOf(result: SendResult) {
  if (result.kind !== "response") {
    return { queueMs: undefined, participantId: undefined, outputTokens: 0 };
  }
  const { headers, value } = result;
  const queueMs = Number(headers["x-roomhub-queue-ms"] ?? Number.NaN);
  const usage = isObject(value) ? value["usage"] : undefined;
  return {
    queueMs: Number.isFinite(queueMs) ? queueMs : undefined,
    participantId: headers["x-roomhub-participant"],
    outputTokens: readUsage(usage).outputTokens ?? 0,
  };
}
