import type { EventRecorder, RecordedEvent } from "./event-recorder.ts";

/** The outcome of one request, as the events report it. */
export interface LedgerEntry {
  requestId: string;
  requests: RecordedEvent[];
  /** `llm.complete` and `llm.error` */
  ends: RecordedEvent[];
}

/** The llm events of a stream, by request, in order of appearance. */
export function ledgerOf(recorder: EventRecorder): LedgerEntry[] {
  const entries = new Map<string, LedgerEntry>();
  for (const event of recorder.events) {
    if (!event.kind.startsWith("llm.")) continue;
    const requestId = String(event.data["requestId"]);
    const entry = entries.get(requestId) ?? { requestId, requests: [], ends: [] };
    entries.set(requestId, entry);
    (event.kind === "llm.request" ? entry.requests : entry.ends).push(event);
  }
  return [...entries.values()];
}

/** Requests that do not end in exactly one terminal event, or were sent more than three times. Contract §5, "Ledger". */
export function ledgerProblems(recorder: EventRecorder): string[] {
  return ledgerOf(recorder).flatMap(({ requestId, requests, ends }) => [
    ...(ends.length === 1 ? [] : [`${requestId} has ${ends.length} terminal events`]),
    ...(requests.length <= 3 ? [] : [`${requestId} has ${requests.length} llm.request`]),
  ]);
}

/** Waits until so many requests have ended. */
export function settled(recorder: EventRecorder, count: number): Promise<void> {
  return recorder.waitFor(
    `${count} terminal events`,
    () => ledgerOf(recorder).filter(({ ends }) => ends.length > 0).length >= count,
  );
}
