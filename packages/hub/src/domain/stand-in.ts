import { capabilityOf, type Participant } from "./participant.ts";
import { isAwaited, isRoutable } from "./readiness.ts";
import type { Room } from "./room.ts";
import type { SelectionQuery } from "./selection-query.ts";

/**
 * Whether stand-ins leave a request to the other participants: it may go to any, and one of the others can serve it, also at
 * capacity or loading. One at which this request failed counts while it can serve others: its failure says more than the
 * response of a stand-in. Contract §3, "Stand-ins".
 */
export function isLeftToOthers(room: Room, query: SelectionQuery): boolean {
  const { selector, only, protocol, nowMs } = query;
  return selector.kind === "any" && only === undefined && haveOthers(room, protocol, nowMs);
}

/** The order of lists, from which programs take the first: stand-ins come last while another participant can chat. */
export function standInsLast(
  room: Room,
  participants: Participant[],
  nowMs: number,
): Participant[] {
  if (!haveOthers(room, "chatCompletions", () => nowMs)) return participants;
  const standIns = participants.filter((one) => one.isStandIn);
  return [...participants.filter((one) => !one.isStandIn), ...standIns];
}

function haveOthers({ participants }: Room, protocol: string, nowMs: () => number): boolean {
  for (const one of participants.values()) {
    if (one.isStandIn || capabilityOf(one, protocol) === "unsupported") continue;
    if (isRoutable(one, nowMs) || isAwaited(one, nowMs)) return true;
  }
  return false;
}
