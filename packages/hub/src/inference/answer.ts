import { forwardResponseHeaders } from "@roomhub/protocol";
import type { ResponseHead } from "./upstream.ts";

/** lower-case names */
export type HeaderMap = Record<string, string>;

/** Contract §4: on every answer of the inference surface. */
const fixed: HeaderMap = {
  "cache-control": "no-store",
  "x-accel-buffering": "no",
  "x-content-type-options": "nosniff",
};

export interface ServedBy {
  requestId: string;
  participantId: string;
  model: string;
  attempts: number;
  queueMs: number;
}

/** Before anybody was asked. */
export function waitingHeaders(requestId: string): HeaderMap {
  return { ...fixed, "x-request-id": requestId };
}

/** Says who served a request, on answers and on errors alike. */
export function servedByHeaders(served: ServedBy): HeaderMap {
  return {
    ...fixed,
    "x-request-id": served.requestId,
    "x-roomhub-participant": visibleAscii(served.participantId),
    "x-roomhub-model": visibleAscii(served.model),
    "x-roomhub-attempts": String(served.attempts),
    "x-roomhub-queue-ms": String(Math.round(served.queueMs)),
  };
}

/** The headers of a relayed answer: ours, and the provider's that may pass. */
export function answerHeaders(
  served: ServedBy,
  head: ResponseHead,
  contentType: string,
): HeaderMap {
  return {
    ...forwardResponseHeaders(head.headers),
    ...servedByHeaders(served),
    "content-type": contentType,
  };
}

const safeContentType = /^[\w.+-]+\/[\w.+-]+(?:\s*;\s*charset="?[\w-]+"?)?$/;

/** The provider's content type when it is a plain one, else what the kind of answer calls for. */
export function contentTypeOf(head: ResponseHead, isStream: boolean): string {
  const type = head.headers["content-type"];
  if (type !== undefined && safeContentType.test(type)) return type;
  return isStream ? "text/event-stream" : "application/json";
}

/** Contract §4: percent-encoded outside visible ASCII. */
function visibleAscii(text: string): string {
  return text.replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed()));
}
