import { isLoopbackHost } from "@roomhub/protocol";
import type { Participant } from "../../domain/participant.ts";
import { isComplete } from "../../domain/readiness.ts";
import type { Room } from "../../domain/room.ts";
import type { StoredRegistration } from "../../domain/stored-registration.ts";
import type { OperationContext } from "../context.ts";
import { assignMachine, leaveMachine } from "../presence.ts";
import { newParticipant } from "../registration.ts";
import { type ParticipantState, restoreState } from "./participant-state.ts";

/**
 * This hub becomes the home of a room: its participants are there and online, as if each had just given a sign of life, so
 * that one that is back in time is never announced offline. No event is emitted. Of those that joined here already nothing
 * changes.
 *
 * @param computer - this one, as it is stored
 * @throws HubError `room_not_found`
 */
export function restoreParticipants(
  context: OperationContext,
  code: string,
  registrations: readonly StoredRegistration[],
  computer: string,
): void {
  const room = context.registry.room(code);
  const oldest = context.wallMs() - context.limits.participantExpiryMs;
  const kept = registrations.filter(
    ({ id, storedAt }) => storedAt >= oldest && !room.participants.has(id),
  );
  kept.sort((one, other) => one.joinedAt - other.joinedAt);
  for (const registration of kept) restore(context, room, registration, computer);
  context.routingChanged(room.code);
}

/** A participant of a room that is handed over. */
export interface GivenParticipant {
  registration: StoredRegistration;
  state: ParticipantState;
}

/**
 * The home of a room gave it to this hub: its participants are as they were there, and no event is emitted. Of those that
 * joined here already nothing changes.
 *
 * @param computer - this one, as it is stored
 * @throws HubError `room_not_found`
 */
export function takeParticipants(
  context: OperationContext,
  code: string,
  given: readonly GivenParticipant[],
  computer: string,
): void {
  const room = context.registry.room(code);
  for (const { registration, state } of given) {
    if (!room.participants.has(registration.id))
      restore(context, room, registration, computer, state);
  }
  context.routingChanged(room.code);
}

/** Another hub is the room's home now: what it says of the participants counts. No event is emitted. */
export function releaseParticipants(context: OperationContext, code: string): void {
  const room = context.registry.findRoom(code);
  if (room === undefined) return;
  for (const participant of [...room.participants.values()]) {
    context.registry.remove(room, participant);
    leaveMachine(context, participant);
    context.liveness.forget(participant);
    context.vault.drop(participant.key);
    context.paths.closeTunnel(participant, "elsewhere");
  }
  context.routingChanged(room.code);
}

function restore(
  context: OperationContext,
  room: Room,
  stored: StoredRegistration,
  computer: string,
  state?: ParticipantState,
): void {
  const participant = participantOf(context, room, stored, computer);
  // Before its machine is known: that follows from its secrets.
  if (state !== undefined) restoreState(context, participant, state);
  context.registry.add(room, participant);
  // Where its model server was overloaded, or its credentials were refused, that ends here.
  context.trials.note(participant);
  assignMachine(context, participant);
  if (participant.presence.status === "online") context.liveness.watch(participant);
  if (participant.liveness === "probe") context.paths.watch(participant);
  // Never rejects; what it finds is an event of its own.
  if (participant.paths.direct.kind === "untried") void context.paths.probe(participant);
}

function participantOf(
  context: OperationContext,
  room: Room,
  stored: StoredRegistration,
  computer: string,
): Participant {
  const { roomCode: _code, has, computer: place, joinedAt, storedAt, ...fields } = stored;
  const { ownerAddress, registrant, ...declared } = fields;
  const isElsewhere = place !== computer;
  const participant = newParticipant(context, room, {
    ...declared,
    registrant: isElsewhere ? { ...registrant, computer: place } : registrant,
    machineDigest: undefined,
  });
  // Another computer's loopback address is that of no client of this one.
  const isOwnHere = !isElsewhere || !isLoopbackHost(ownerAddress ?? "");
  participant.paths.ownerAddress = isOwnHere ? ownerAddress : undefined;
  participant.presence.joinedAt = joinedAt;
  participant.presence.lastSeenAt = storedAt;
  if (participant.isTunnelOnly || !isComplete(has)) participant.presence.returning = has;
  // A call would go out without what is missing.
  participant.paths.direct = isComplete(has) ? context.paths.directPathOf(participant) : mustJoin;
  return participant;
}

const mustJoin = {
  kind: "refused",
  reason: "the hub it had joined has stopped: it must join again",
} as const;
