import { type ErrorCode, forwardResponseHeaders, MAY_TRUNCATE_HEADER } from "@roomhub/protocol";
import type { HubError } from "../../errors.ts";
import { type RequestFacts, type ServedBy, servedBy } from "../request-facts.ts";
import type { ResponseHead } from "../upstream.ts";
import type { ResponseKind } from "./response-gate.ts";

/** lower-case names */
export type HeaderMap = Record<string, string>;

/** Before any attempt: the headers on every response of the inference surface. Contract §4. */
export function waitingHeaders(requestId: string): HeaderMap {
  return {
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
    "x-request-id": requestId,
  };
}

/** The participant that served a request, on responses and on errors alike. */
export function servedByHeaders(served: ServedBy): HeaderMap {
  const headers = waitingHeaders(served.requestId);
  headers["x-roomhub-participant"] = visibleAscii(served.participantId);
  headers["x-roomhub-model"] = visibleAscii(served.model);
  headers["x-roomhub-attempts"] = String(served.attempts);
  headers["x-roomhub-queue-ms"] = String(Math.round(served.queueMs));
  if (served.mayTruncate) headers[MAY_TRUNCATE_HEADER] = "true";
  return headers;
}

/** Codes of refusals by a provider or an agent. */
const theirs: ReadonlySet<ErrorCode> = new Set([
  "provider_error",
  "context_length_exceeded",
  "budget_exhausted",
]);

/**
 * The headers of an error in the hub's own words.
 *
 * @param hints - headers of the provider's or the agent's refusal that may pass, for example `retry-after`
 */
export function errorHeaders(error: HubError, facts: RequestFacts, hints: HeaderMap): HeaderMap {
  const { participant, requestId } = facts;
  return {
    ...(theirs.has(error.code) ? hints : {}),
    ...(participant === undefined
      ? waitingHeaders(requestId)
      : servedByHeaders(servedBy(facts, participant))),
  };
}

/** The headers of a relayed response: the hub's, and the provider's that may pass. */
export function relayedHeaders(
  served: ServedBy,
  head: ResponseHead,
  kind: ResponseKind,
): HeaderMap {
  const headers = servedByHeaders(served);
  headers["content-type"] = contentTypeOf(head, defaultTypes[kind]);
  const theirs = forwardResponseHeaders(head.headers);
  for (const name in theirs) headers[name] ??= theirs[name] ?? "";
  return headers;
}

/** The headers of a provider's own refusal. */
export function refusalHeaders(served: ServedBy, head: ResponseHead): HeaderMap {
  const headers = relayedHeaders(served, head, "refusal");
  headers["content-type"] = "application/json";
  return headers;
}

/** The headers of a stream that begins before the provider responds. @param served - undefined before the first attempt */
export function earlyHeaders(requestId: string, served: ServedBy | undefined): HeaderMap {
  const ours = served === undefined ? waitingHeaders(requestId) : servedByHeaders(served);
  return { ...ours, "content-type": "text/event-stream" };
}

const defaultTypes: Record<ResponseKind, string> = {
  stream: "text/event-stream",
  json: "application/json",
  plain: "application/octet-stream",
  refusal: "application/json",
};
const safeContentType = /^[\w.+-]+\/[\w.+-]+(?:\s*;\s*\w+="?[\w.-]+"?){0,4}$/;

/** The provider's content type when it is a plain one, else the one of this kind of response. */
export function contentTypeOf(head: ResponseHead, otherwise: string): string {
  const type = head.headers["content-type"];
  // A browser would run what stands in it.
  if (/^text\/html\b/i.test(type ?? "")) return "text/plain; charset=utf-8";
  if (type !== undefined && safeContentType.test(type)) return type;
  return otherwise;
}

const isVisibleAscii = /^[\x21-\x7e]*$/;

/** Contract §4: percent-encoded outside visible ASCII. */
function visibleAscii(text: string): string {
  if (isVisibleAscii.test(text)) return text;
  return text.replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()));
}
