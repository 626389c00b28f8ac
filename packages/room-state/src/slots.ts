import type { ParticipantSummary } from "@roomhub/protocol";
import type { RoomState } from "./state.ts";

/** How busy a participant is. */
export interface Slots {
  /** requests of this room that run there, counted from events; `load` is older */
  readonly active: number;
  /** how many may run at once */
  readonly limit: number;
  /** slots busy with other work: of the model server, or of other participants of the same machine */
  readonly elsewhere: number;
  /** requests in the room's queue that it could serve; one may be counted at several participants */
  readonly waiting: number;
}

/** How busy a machine is whose slots several participants share. */
export interface MachineSlots {
  /** of its participants in this room, the sum of their `active` */
  readonly active: number;
  readonly limit: number;
  /** slots busy with other work, such as that of another room */
  readonly elsewhere: number;
}

/** The slots of every participant, by id. */
export function slotsOf(state: RoomState): ReadonlyMap<string, Slots> {
  const { active, waiting } = counted(state);
  const machines = machineSlots(state);
  return new Map(
    [...state.participants.values()].map(({ id, load }) => {
      const machine = machines.get(load.machine?.id ?? "");
      const own = active.get(id) ?? 0;
      const besides = machine === undefined ? 0 : machine.active + machine.elsewhere - own;
      const free = Math.max(0, load.limit - own);
      const elsewhere = Math.min(free, Math.max(load.elsewhere ?? 0, besides));
      // `load.queued` is older than the queue counted from events.
      return [
        id,
        { active: own, limit: load.limit, elsewhere, waiting: Math.min(load.queued, waiting) },
      ];
    }),
  );
}

/** The slots of every machine that participants share, by its id. */
export function machineSlots(state: RoomState): ReadonlyMap<string, MachineSlots> {
  const { active } = counted(state);
  const members = new Map<string, ParticipantSummary[]>();
  for (const participant of state.participants.values()) {
    const id = participant.load.machine?.id;
    if (id === undefined) continue;
    const sharing = members.get(id);
    if (sharing === undefined) members.set(id, [participant]);
    else sharing.push(participant);
  }
  return new Map(
    [...members].map(([id, sharing]) => {
      const own = sharing.reduce((sum, member) => sum + (active.get(member.id) ?? 0), 0);
      const limit = Math.max(...sharing.map(({ load }) => load.machine?.limit ?? load.limit));
      const elsewhere = Math.min(Math.max(0, limit - own), besides(sharing));
      return [id, { active: own, limit, elsewhere }];
    }),
  );
}

/**
 * Slots of a machine busy with work other than that of its participants in this room. The participants report at different
 * times, and one may count a request that another does not count yet, so this is the smallest difference.
 */
function besides(sharing: readonly ParticipantSummary[]): number {
  const listed = sharing.reduce((sum, { load }) => sum + load.active, 0);
  const left = sharing.map(({ load }) => Math.max(0, (load.machine?.active ?? 0) - listed));
  return Math.min(...left);
}

function counted({ running }: RoomState): { active: Map<string, number>; waiting: number } {
  const active = new Map<string, number>();
  let waiting = 0;
  for (const request of running.values()) {
    if (request.kind === "queued") waiting++;
    else active.set(request.participantId, (active.get(request.participantId) ?? 0) + 1);
  }
  return { active, waiting };
}

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
