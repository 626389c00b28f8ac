import type { Participant, Machine } from "../domain/participant.ts";
import type { Room } from "../domain/room.ts";
import { participantView } from "../domain/views.ts";
import type { OperationContext } from "./context.ts";
import { roomsToWake } from "../domain/slots.ts";

/**
 * A sign of life: a join, a heartbeat, any frame or pong of its tunnel. Brings an offline participant back. Interface
 * §3, contract §2.
 */
export function recordLife(context: OperationContext, participant: Participant): void {
  participant.presence.lastSeenMs = context.nowMs();
  participant.presence.lastSeenAt = context.wallMs();
  if (participant.presence.status === "online" || !context.registry.isCurrent(participant)) return;
  participant.presence.status = "online";
  context.liveness.watch(participant);
  announceUpdate(context, participant);
}

/** Marks overdue participants offline, each with exactly one event. */
export function markOverdue(context: OperationContext): void {
  for (const participant of context.liveness.takeOverdue(context.nowMs())) {
    participant.presence.status = "offline";
    context.emit.participantOffline(participant.roomCode, {
      participantId: participant.id,
      nickname: participant.nickname,
    });
    context.routingChanged(participant.roomCode);
  }
}

/** Routes waiting requests again where a trial of credentials is due. Contract §3, "Readiness". */
export function wakeForTrials({ trials, registry, nowMs, routingChanged }: OperationContext): void {
  for (const { roomCode } of trials.takeDue(nowMs(), (one) => registry.isCurrent(one))) {
    routingChanged(roomCode);
  }
}

/** Announces a visible change of a participant, and routes waiting requests again. */
export function announceUpdate(context: OperationContext, participant: Participant): void {
  if (!context.registry.isCurrent(participant)) return;
  context.trials.note(participant);
  showUpdate(context, participant);
  wakeRooms(context, participant.roomCode, participant.load.machine);
}

/** The event alone. */
function showUpdate(context: OperationContext, participant: Participant): void {
  const view = participantView(participant, context.nowMs());
  context.emit.participantUpdated(participant.roomCode, view);
}

/** Adds a new participant to its room, and begins to watch its signs of life. */
export function addParticipant(
  context: OperationContext,
  room: Room,
  participant: Participant,
  authHeaders: Record<string, string>,
): void {
  context.vault.put(participant.key, participant.endpointOrigin, authHeaders);
  assignMachine(context, participant);
  context.registry.add(room, participant);
  context.liveness.watch(participant);
  if (participant.liveness === "probe") context.paths.watch(participant);
  context.emit.participantJoined(room.code, participantView(participant, context.nowMs()));
  wakeRooms(context, room.code, participant.load.machine);
}

/** Removes a participant from its room, with everything the hub kept for it. */
export function removeParticipant(
  context: OperationContext,
  participant: Participant,
  why: { tunnel: "replaced" | "left"; reason?: string },
): void {
  const room = context.registry.findRoom(participant.roomCode);
  if (room === undefined) return;
  context.registry.remove(room, participant);
  leaveMachine(context, participant);
  // A room with a participant was in use until now.
  room.lastUsedAt = context.wallMs();
  context.liveness.forget(participant);
  context.vault.drop(participant.key);
  void context.registrations?.changed(participant);
  context.emit.participantLeft(room.code, {
    participantId: participant.id,
    nickname: participant.nickname,
    ...(why.reason === undefined ? {} : { reason: why.reason }),
  });
  context.paths.closeTunnel(participant, why.tunnel);
  context.routingChanged(room.code);
}

/**
 * Assigns the machine whose model server a participant shares: with participants whose agents prove the same machine,
 * or, where the hub dials, with the same endpoint, credentials and registering address. Contract §3, "Machines".
 */
export function assignMachine(context: OperationContext, participant: Participant): void {
  move(context, participant, machineKey(context, participant));
}

/** The participant leaves its room, and with it its machine. */
export function leaveMachine(context: OperationContext, participant: Participant): void {
  move(context, participant, undefined);
}

/** Waiting requests are routed again, in every room with a participant of the machine. */
export function wakeRooms(
  { routingChanged }: OperationContext,
  roomCode: string,
  machine: Machine | undefined,
): void {
  for (const code of roomsToWake(roomCode, machine)) routingChanged(code);
}

function move(
  { machines, routingChanged }: OperationContext,
  participant: Participant,
  key: string | undefined,
): void {
  const { roomCode } = participant;
  const { machine: before } = participant.load;
  machines.assign(participant, key);
  if (participant.load.machine === before) return;
  // The remaining members may have another limit now. The participant's room is woken once the change is complete.
  for (const code of roomsToWake(roomCode, before)) if (code !== roomCode) routingChanged(code);
}

function machineKey(
  { keyedHash, vault }: OperationContext,
  { key, endpointOrigin, isTunnelOnly, machineDigest, registrant }: Participant,
): string | undefined {
  if (machineDigest !== undefined) {
    return keyedHash("machine", Buffer.from(machineDigest).toString("hex"));
  }
  // The endpoint of an agent that proves no machine means nothing on this computer.
  if (isTunnelOnly) return undefined;
  const credentials = Object.entries(vault.headersFor(key, endpointOrigin)).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const place = [endpointOrigin, registrant.address ?? registrant.throttleKey, credentials];
  return keyedHash("machine", JSON.stringify(place));
}
