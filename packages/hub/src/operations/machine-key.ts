import { roomsToWake } from "../domain/machine.ts";
import type { Machine, Participant } from "../domain/participant.ts";
import type { OperationContext } from "./context.ts";

/**
 * Finds out with which others a participant shares a model server: those whose agent proves the same machine, or, where
 * the hub dials, those with the same endpoint, credentials and registering address. Contract §3, "Machines".
 */
export function assignMachine(context: OperationContext, participant: Participant): void {
  move(context, participant, machineKey(context, participant));
}

/** A participant leaves its room, and so its machine. */
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
  const { machine: before, roomCode } = participant;
  machines.assign(participant, key);
  if (participant.machine === before) return;
  // Those that stay may have another limit now. Its own room is woken once the change is complete.
  for (const code of roomsToWake(roomCode, before)) if (code !== roomCode) routingChanged(code);
}

function machineKey(
  { keyedHash, vault }: OperationContext,
  { key, endpointOrigin, isTunnelOnly, machineDigest, registrant }: Participant,
): string | undefined {
  if (machineDigest !== undefined) {
    return keyedHash("machine", Buffer.from(machineDigest).toString("hex"));
  }
  // An agent that proves no machine: its endpoint says nothing here.
  if (isTunnelOnly) return undefined;
  const credentials = Object.entries(vault.headersFor(key, endpointOrigin)).sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const place = [endpointOrigin, registrant.address ?? registrant.throttleKey, credentials];
  return keyedHash("machine", JSON.stringify(place));
}
