import type {
  ClientIdentity,
  CompletePayload,
  FailurePayload,
  FailureStage,
  InferenceProtocol,
  Metrics,
} from "@roomhub/protocol";
import { failureHint } from "./failure-hint.ts";

export const RECENT_REQUESTS = 500;

interface EndedFacts {
  readonly requestId: string;
  readonly selector: string | undefined;
  readonly protocol: InferenceProtocol;
  readonly client: ClientIdentity;
  readonly conversation: string | undefined;
  /** undefined when no participant got the request */
  readonly participantId: string | undefined;
  readonly model: string | undefined;
  readonly attempts: number;
  readonly queueMs: number;
  /** epoch ms on the watcher's clock */
  readonly endedMs: number;
}

/** A request that ended while the room was watched. */
export type EndedRequest = EndedFacts &
  (
    | {
        readonly kind: "done";
        readonly metrics: Metrics;
        /** how often its tunnel lost its connection and was resumed */
        readonly resumes: number;
      }
    /** by its client */
    | { readonly kind: "cancelled" }
    | {
        readonly kind: "failed";
        readonly stage: FailureStage;
        /** of the hub, or the provider's own */
        readonly code: string;
        readonly error: string;
        /** the next step; undefined for a code that has none */
        readonly hint: string | undefined;
      }
  );

export function done(event: CompletePayload, nowMs: number): EndedRequest {
  const { metrics, resumes = 0 } = event;
  return { ...endOf(event, nowMs), kind: "done", metrics, resumes };
}

/** @param event - with the code of its room, as every event has it */
export function failed(event: FailurePayload & { roomCode: string }, nowMs: number): EndedRequest {
  const facts = endOf(event, nowMs);
  if (event.code === "client_disconnected") return { ...facts, kind: "cancelled" };
  const { stage, code, error, roomCode } = event;
  return { ...facts, kind: "failed", stage, code, error, hint: failureHint(code, roomCode) };
}

function endOf(event: CompletePayload | FailurePayload, nowMs: number): EndedFacts {
  return {
    requestId: event.requestId,
    selector: event.selector ?? undefined,
    protocol: event.protocol,
    client: event.client,
    conversation: event.conversation,
    participantId: event.participantId ?? undefined,
    model: event.model ?? undefined,
    attempts: event.attempts,
    queueMs: event.queueMs,
    endedMs: nowMs,
  };
}
