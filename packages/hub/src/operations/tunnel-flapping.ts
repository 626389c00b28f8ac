import type { Participant } from "../domain/participant.ts";
import { HubError } from "../errors.ts";
import type { OperationContext } from "./context.ts";
import { announceUpdate } from "./presence.ts";

/**
 * Lets a tunnel open, or not when its token has opened too many of late: two agents with one token would take its place
 * from each other for ever. The open tunnel stays. Contract §3.
 *
 * @throws HubError `tunnel_flapping`
 */
export function admitTunnel(context: OperationContext, participant: Participant): void {
  if (context.tunnelOpenings.take(participant, context.nowMs())) return;
  const { tunnelOpenings: most, tunnelOpeningsMs: withinMs } = context.limits;
  const fact = `more than ${most} were opened with its token within ${withinMs / 1_000} s`;
  if (participant.tunnelProblem === undefined) {
    participant.tunnelProblem = `a tunnel was refused: ${fact}, as by two agents that share it`;
    announceUpdate(context, participant);
  }
  throw new HubError("tunnel_flapping", `A tunnel of ${participant.id} was refused: ${fact}.`, {
    retryAfterMs: withinMs,
    hint: "Run one agent per token; where there is only one, look at what cuts its tunnels: roomhub doctor",
  });
}

/** Forgets the refusals of those that had none for as long as openings are counted, each with one event. */
export function settleFlapping(context: OperationContext): void {
  for (const participant of context.tunnelOpenings.takeSettled(context.nowMs())) {
    participant.tunnelProblem = undefined;
    announceUpdate(context, participant);
  }
}
