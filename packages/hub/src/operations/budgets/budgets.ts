import type { Participant } from "../../domain/participant.ts";
import type { OperationContext } from "../context.ts";
import { announceUpdate } from "../presence.ts";

/** An agent refused a request for its budget: no request goes there until then. Contract §3, "Budgets". */
export function participantRests(
  context: OperationContext,
  participant: Participant,
  untilMs: number,
): void {
  participant.restsUntilMs = untilMs;
  context.budgetUpdates.note(participant);
}

/** Lets waiting requests go where a rest is over, and announces the changes that are due, which may be later. */
export function announceBudgets(context: OperationContext): void {
  const nowMs = context.nowMs();
  for (const { roomCode } of context.budgetUpdates.takeRested(nowMs)) {
    context.routingChanged(roomCode);
  }
  for (const participant of context.budgetUpdates.takeDue(nowMs)) {
    announceUpdate(context, participant);
  }
}
