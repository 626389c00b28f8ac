import type { Usage } from "@roomhub/protocol";
import type { Room } from "../domain/room.ts";
import type { HubError } from "../errors.ts";
import type { DispatchDeps, InferenceCall } from "./inference-call.ts";
import {
  metricsOf,
  completePayload,
  failurePayload,
  queuedPayload,
  type RequestFacts,
} from "./request-facts.ts";
import type { QueuePlace } from "./queue-place.ts";

/** What was delivered of a complete response. */
interface Delivered {
  /** on the hub's clock; undefined when it had no content */
  readonly firstContentMs: number | undefined;
  readonly usage: Usage;
}

/** A request has joined its room's queue. */
export function announceQueued(
  { emit, detail }: Pick<DispatchDeps, "emit" | "detail">,
  { code }: Pick<Room, "code">,
  facts: RequestFacts,
  place: Pick<QueuePlace, "number">,
): void {
  if (detail.isWatched) emit.requestQueued(code, queuedPayload(facts, place.number));
}

/**
 * The terminal event of a request. Contract §5.
 *
 * @param error - undefined when the response was complete
 * @param providerCode - the provider's own error code, when it gave one
 */
export function announceEnd(
  { emit, nowMs }: Pick<DispatchDeps, "emit" | "nowMs">,
  { room, startedMs }: Pick<InferenceCall, "room" | "startedMs">,
  facts: RequestFacts,
  { firstContentMs, usage }: Delivered,
  error: HubError | undefined,
  providerCode: string | undefined,
): void {
  if (error !== undefined) {
    emit.llmError(room.code, failurePayload(facts, error, providerCode), error.status);
    return;
  }
  const endMs = nowMs();
  if (facts.participant !== undefined) facts.participant.lastUsedMs = endMs;
  const ttftMs = (firstContentMs ?? endMs) - startedMs;
  emit.llmComplete(room.code, completePayload(facts, metricsOf(ttftMs, endMs - startedMs, usage)));
}
