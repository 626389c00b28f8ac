import type { Participant } from "../domain/participant.ts";
import type { OperationContext } from "./context.ts";
import { announceUpdate } from "./presence.ts";

/** An agent refused a request for its budget: no request goes there until then. Contract §3, "Budgets". */
export function participantRests(
  context: OperationContext,
  participant: Participant,
  untilMs: number,
): void {
  participant.restsUntilMs = untilMs;
  context.budgetUpdates.note(participant);
}

/** Announces the changes that are due, and lets waiting requests go where a budget was renewed. */
export function announceBudgets(context: OperationContext): void {
  const nowMs = context.nowMs();
  for (const participant of context.budgetUpdates.takeDue(nowMs)) {
    context.budgetUpdates.noteAnnounced(participant, nowMs);
    announceUpdate(context, participant);
  }
}
