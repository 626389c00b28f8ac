import type { Ban, Room as RoomView, UpdateRoomRequest } from "@roomhub/protocol";
import { bansView, withBan } from "../domain/keys/bans.ts";
import { roomView } from "../domain/views.ts";
import { changeRoom } from "./change-room.ts";
import type { OperationContext } from "./context.ts";
import { removeParticipant } from "./presence.ts";
import { forgetRoom } from "./rooms.ts";

/**
 * `PUT /rooms/:code`: another name, another join password or none. Stored when it resolves. Contract §9.
 *
 * @throws HubError `room_not_found`, `cluster_unavailable`
 */
export async function updateRoom(
  context: OperationContext,
  code: string,
  { name, password }: UpdateRoomRequest,
): Promise<RoomView> {
  const { registry, roomPasswords, passwordKeeper } = context;
  // An unknown room is reported before a password is hashed.
  registry.room(code);
  const kept = typeof password === "string" ? await passwordKeeper.fromPassword(password) : null;
  const room = await changeRoom(context, code, (one) => {
    const before = roomPasswords.get(one.code);
    const set = (to: typeof before) =>
      to === undefined ? roomPasswords.delete(one.code) : roomPasswords.set(one.code, to);
    const isChanged = password !== undefined;
    if (isChanged) set(kept ?? undefined);
    return {
      changed: {
        ...(name === undefined ? {} : { name }),
        ...(isChanged ? { isPasswordProtected: kept !== null } : {}),
      },
      result: one,
      undo: () => void (isChanged && set(before)),
    };
  });
  return roomView(room);
}

/**
 * `DELETE /rooms/:code`: ends requests, then participants, then event streams. That it is gone is stored when it
 * resolves. Contract §9.
 *
 * @throws HubError `room_not_found`
 */
export async function deleteRoom(context: OperationContext, code: string): Promise<void> {
  await context.changes.run(code, async () => {
    const room = context.registry.room(code);
    room.isDeleted = true;
    context.accessChanged();
    for (const participant of [...room.participants.values()]) {
      removeParticipant(context, participant, { tunnel: "left", reason: "room_deleted" });
    }
    forgetRoom(context, room);
    await context.rooms.drop(room);
  });
}

/**
 * `POST …/participants/:id/kick`: removes a participant, and refuses its joins for a while. The ban is stored when this
 * resolves. Contract §9.
 *
 * @throws HubError `room_not_found`, `participant_not_found`, `cluster_unavailable`
 */
export async function kickParticipant(
  context: OperationContext,
  code: string,
  id: string,
  banMs: number,
): Promise<void> {
  const { registry, wallMs, registrations } = context;
  const participant = await changeRoom(context, code, (room) => {
    const bans = withBan(room.bans, registry.participant(room, id), wallMs() + banMs, wallMs());
    return { changed: { bans }, result: registry.participant(room, id) };
  });
  if (!registry.isCurrent(participant)) return;
  removeParticipant(context, participant, { tunnel: "left", reason: "kicked" });
  await registrations?.changed(participant);
}

/** `GET …/bans`. @throws HubError `room_not_found` */
export function bansIn({ registry, wallMs }: OperationContext, code: string): Ban[] {
  return bansView(registry.room(code).bans, wallMs());
}

/**
 * `DELETE …/bans/:id`: a participant may join again. Stored when it resolves. Contract §9.
 *
 * @returns the bans that are left
 * @throws HubError `room_not_found`, `cluster_unavailable`
 */
export async function liftBan(context: OperationContext, code: string, id: string): Promise<Ban[]> {
  await changeRoom(context, code, (room) => {
    const bans = room.bans.filter((one) => one.id !== id);
    return { changed: { bans }, result: undefined };
  });
  return bansIn(context, code);
}

/** The oldest of more are forgotten. */
const maxBlocked = 1_000;

/** `GET …/blocked`: the clients whose requests are refused, the oldest first. @throws HubError `room_not_found` */
export function blockedIn({ registry }: OperationContext, code: string): string[] {
  return [...registry.room(code).blocked];
}

/**
 * `PUT` and `DELETE …/blocked/:client`: refuses the requests of a client, or no longer. Stored when it resolves. Contract
 * §9.
 *
 * @param client - its name or fingerprint as it is shown, or its address
 * @throws HubError `room_not_found`, `cluster_unavailable`
 */
export async function setBlocked(
  context: OperationContext,
  code: string,
  client: string,
  isBlocked: boolean,
): Promise<string[]> {
  const blocked = await changeRoom(context, code, (room) => {
    const others = [...room.blocked].filter((one) => one !== client);
    const result = isBlocked ? [...others, client].slice(-maxBlocked) : others;
    return { changed: { blocked: new Set(result) }, result };
  });
  context.accessChanged();
  return blocked;
}
