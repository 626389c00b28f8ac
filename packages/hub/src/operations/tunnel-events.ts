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

/** What the events of tunnels mean to their participants. */
export function tunnelEvents(context: OperationContext) {
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
    },
    status(participant: Participant, status: ReportedStatus) {
      statusReported(context, participant, status);
    },
    congested: (participant: Participant, isCongested: boolean) =>
      tunnelCongested(context, participant, isCongested),
    suspended(participant: Participant, streams: number) {
      tunnelSuspended(context, participant, streams);
    },
    resumed(participant: Participant) {
      tunnelResumed(context, participant);
    },
    closed: (participant: Participant) => tunnelClosed(context, participant),
  };
}
