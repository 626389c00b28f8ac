import { z } from "zod";

/** Letters and digits that cannot be taken for another: no 0/O, 1/I/L. Contract §1. */
export const ROOM_CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
export const ROOM_CODE_LENGTH = 6;

/** Contract §1: accepted in any letter case, normalised once at the edge. */
export function normaliseRoomCode(code: string): string {
  return code.toUpperCase();
}

/** Interface §2; `createdAt` in epoch ms; `passwordProtected` and `participantCount` are additions of contract §1. */
export const Room = z.object({
  id: z.uuid(),
  code: z.string(),
  name: z.string(),
  hostId: z.uuid(),
  createdAt: z.number(),
  passwordProtected: z.boolean(),
  participantCount: z.int(),
});
export type Room = z.infer<typeof Room>;

export const CreateRoomResponse = z.object({ room: Room, hostId: z.uuid() });
export type CreateRoomResponse = z.infer<typeof CreateRoomResponse>;

export const RoomResponse = z.object({ room: Room });
export const RoomListResponse = z.object({ rooms: z.array(Room) });
