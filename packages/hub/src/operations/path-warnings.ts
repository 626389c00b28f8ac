import { shellWord, type Warning } from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import type { OperationContext } from "./context.ts";

/** Tries the endpoint of a participant that has just said where it is, so that a warning can say whether it answers. */
export async function firstProbe(context: OperationContext, participant: Participant) {
  if (participant.direct.kind === "untried" && participant.tunnel.kind === "closed") {
    await context.paths.probe(participant);
  }
}

/** Why a participant that just registered cannot be reached, with the line that would work. Contract §3. */
export function pathWarnings(participant: Participant): Warning[] {
  if (participant.isTunnelOnly || participant.tunnel.kind !== "closed") return [];
  const { direct } = participant;
  if (direct.kind !== "refused" && direct.kind !== "failed") return [];
  const line = `roomhub join ${participant.roomCode} --id ${participant.id} --model ${shellWord(participant.model)} --endpoint ${shellWord(participant.endpoint)}`;
  const message = `Requests cannot reach ${participant.id} yet: ${direct.reason}. On its own machine run: ${line}`;
  return [
    { code: direct.kind === "refused" ? "endpoint_not_dialled" : "endpoint_unreachable", message },
  ];
}
