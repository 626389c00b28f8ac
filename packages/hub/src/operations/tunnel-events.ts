import type { Participant } from "../domain/participant.ts";
import type { OperationContext } from "./context.ts";
import {
  type ReportedStatus,
  recordTunnelContact,
  statusReported,
  tunnelClosed,
  tunnelCongested,
  tunnelOpened,
} from "./path-changes.ts";
import { admitTunnel } from "./tunnel-flapping.ts";
import { admitResume, tunnelResumed, tunnelSuspended } from "./tunnel-gaps.ts";

/**
 * What the events of tunnels mean to their participants.
 *
 * @param loadChanged - what a participant takes may be another now; called after each event
 */
export function tunnelEvents(
  context: OperationContext,
  loadChanged: (participant: Participant) => void,
) {
  return {
    opening: (participant: Participant) => admitTunnel(context, participant),
    resuming: (participant: Participant, session: object) =>
      admitResume(context, participant, session),
    opened(participant: Participant, capabilities: Record<string, string>, status: ReportedStatus) {
      tunnelOpened(context, participant, status);
      statusReported(context, participant, { ...status, capabilities });
    },
    alive(participant: Participant) {
      recordTunnelContact(context, participant);
      loadChanged(participant);
    },
    status(participant: Participant, status: ReportedStatus) {
      statusReported(context, participant, status);
      loadChanged(participant);
    },
    congested: (participant: Participant, isCongested: boolean) =>
      tunnelCongested(context, participant, isCongested),
    suspended(participant: Participant, streams: number) {
      tunnelSuspended(context, participant, streams);
      loadChanged(participant);
    },
    resumed(participant: Participant) {
      tunnelResumed(context, participant);
      loadChanged(participant);
    },
    closed: (participant: Participant) => tunnelClosed(context, participant),
  };
}
