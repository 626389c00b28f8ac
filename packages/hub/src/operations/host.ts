import type { Room as RoomView, UpdateRoomRequest } from "@roomhub/protocol";
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
  const room = await changeRoom(
    context,
    code,
    (one) => {
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
    },
    "Try again.",
  );
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
 * `POST …/participants/:id/kick`: removes a participant, and refuses its joins for a while. Contract §9.
 *
 * @throws HubError `room_not_found`, `participant_not_found`
 */
export async function kickParticipant(
  context: OperationContext,
  code: string,
  id: string,
  banMs: number,
): Promise<void> {
  const { registry, nowMs, registrations } = context;
  const room = registry.room(code);
  const participant = registry.participant(room, id);
  room.bans.add(participant, nowMs() + banMs);
  removeParticipant(context, participant, { tunnel: "left", reason: "kicked" });
  await registrations?.changed(participant);
}
