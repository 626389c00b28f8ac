import type { ParticipantSummary } from "./participant.ts";

/** Interface §2, "live and ready": requests are served there, at once or when it has a slot or its model. */
export function isLiveAndReady({
  status,
  connection,
}: Pick<ParticipantSummary, "status" | "connection">): boolean {
  return status === "online" && connection.connected;
}
