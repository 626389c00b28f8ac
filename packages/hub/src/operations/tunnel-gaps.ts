import type { Participant } from "../domain/participant.ts";
import { updateTrial } from "../domain/readiness.ts";
import { HubError } from "../errors.ts";
import type { OperationContext } from "./context.ts";
import { recordTunnelContact, type ReportedStatus, takeStatus } from "./path-changes.ts";
import { announceUpdate } from "./presence.ts";

/**
 * The connection of a tunnel is lost while streams run in it, or with a hub that stops, and its agent dials again. Until then requests
 * wait too, as for a model that loads. No sign of life: silence counts from the last one. Contract §3, "A lost connection".
 *
 * @param streams - that wait
 */
export function tunnelSuspended(
  context: OperationContext,
  participant: Participant,
  streams: number,
): void {
  const { tunnel } = participant;
  if (tunnel.kind !== "open") return;
  const { readiness, problem, sinceMs } = tunnel;
  participant.tunnel = {
    kind: "resuming",
    streams,
    sinceMs: context.nowMs(),
    before: { readiness, problem, sinceMs },
  };
  announceUpdate(context, participant);
}

/**
 * The agent dialled again, and the streams go on. It is as it was before, with the budget and the rest that it had.
 *
 * @param status - how it is now; undefined where it is as before
 */
export function tunnelResumed(
  context: OperationContext,
  participant: Participant,
  status?: ReportedStatus,
): void {
  const { tunnel } = participant;
  if (tunnel.kind !== "resuming") return;
  const wasOffline = participant.status === "offline";
  const nowMs = context.nowMs();
  participant.tunnel = { kind: "open", ...tunnel.before };
  if (status !== undefined) takeStatus(context, participant, status);
  updateTrial(participant);
  context.budgetUpdates.noteAnnounced(participant, nowMs);
  context.loadedUpdates.noteAnnounced(participant, nowMs);
  recordTunnelContact(context, participant);
  if (!wasOffline) announceUpdate(context, participant);
}

/**
 * Lets a session have another connection, which is no opening of a tunnel.
 *
 * @throws HubError `tunnel_flapping`
 */
export function admitResume(
  context: OperationContext,
  participant: Participant,
  session: object,
): void {
  if (context.tunnelResumes.take(session, context.nowMs())) return;
  throw new HubError(
    "tunnel_flapping",
    `The tunnel of ${participant.id} was resumed 60 times within a minute.`,
    {
      retryAfterMs: 1_000,
      hint: "Look at what cuts its connection: roomhub doctor",
    },
  );
}
