import type { OperationContext } from "../context.ts";
import { underWay } from "./moves.ts";
import { announceUpdate } from "../presence.ts";

/**
 * This hub stops, and its participants go to others of the cluster: until they are there, requests for them wait, here and
 * at every other hub. Contract §8.
 */
export function handOverParticipants(context: OperationContext): void {
  context.moves.isHandingOver = true;
  for (const participant of context.registry.participants()) {
    const { remote, tunnel } = participant;
    if (remote !== undefined || tunnel.kind !== "open" || tunnel.readiness !== "ready") continue;
    participant.tunnel = underWay(context.nowMs());
    announceUpdate(context, participant);
  }
}

/** Of participants that joined here and did not dial. */
export function settleArrivals(context: OperationContext): void {
  for (const participant of context.moves.takeOverdue(context.nowMs())) {
    if (!context.registry.isCurrent(participant) || participant.remote !== undefined) continue;
    participant.tunnel = { kind: "closed" };
    announceUpdate(context, participant);
  }
}
