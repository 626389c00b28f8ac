import type { ParticipantSummary } from "@roomhub/protocol";

/** Whether a participant can serve chats instead of a stand-in, now or once it has a slot or its model. */
export function canReplaceStandIn(participant: ParticipantSummary): boolean {
  const { standIn, status, connection, capabilities } = participant;
  const isReachable = connection.readiness === "ready" || connection.readiness === "loading";
  return (
    standIn !== true &&
    status !== "offline" &&
    isReachable &&
    capabilities.chatCompletions !== "unsupported"
  );
}
