import type { ParticipantSummary } from "@roomhub/protocol";
import type { RoomState } from "./state.ts";

/** How busy a participant is. */
export interface Slots {
  /** requests of this room that run there, as counted from events: current, while `load` is from its last update */
  readonly active: number;
  /** how many may run at once */
  readonly limit: number;
  /** slots busy with other work: of the model server, or of other participants of the same machine */
  readonly elsewhere: number;
  /** requests in the room's queue that it could serve; one may be counted at several participants */
  readonly waiting: number;
}

/** The slots of every participant, by id. */
export function slotsOf({ participants, running }: RoomState): ReadonlyMap<string, Slots> {
  const active = new Map<string, number>();
  let waiting = 0;
  for (const request of running.values()) {
    if (request.kind === "queued") {
      waiting++;
      continue;
    }
    active.set(request.participantId, (active.get(request.participantId) ?? 0) + 1);
  }
  return new Map(
    [...participants.values()].map((participant) => [
      participant.id,
      slots(participant, active.get(participant.id) ?? 0, waiting),
    ]),
  );
}

function slots({ load }: ParticipantSummary, active: number, allWaiting: number): Slots {
  const { limit, elsewhere = 0, machine, active: listed } = load;
  const besides = machine === undefined ? 0 : Math.max(0, machine.active - listed);
  return {
    active,
    limit,
    elsewhere: Math.min(limit, Math.max(elsewhere, besides)),
    // What it reported last may be older than the queue.
    waiting: Math.min(load.queued, allWaiting),
  };
}
