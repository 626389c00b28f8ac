import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { plainText, utf8Length } from "./text.ts";

/** Letters and digits that cannot be taken for another: no 0/O, 1/I/L. Contract §1. */
export const ROOM_CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
export const ROOM_CODE_LENGTH = 6;

/** Contract §1: accepted in any letter case, normalised once at the edge. */
export function normaliseRoomCode(code: string): string {
  return code.toUpperCase();
}

/** 1–128 bytes of UTF-8. Contract §6. */
export const RoomPassword = z
  .string()
  .min(1, { error: "must not be empty" })
  .refine((password) => utf8Length(password) <= LIMITS.passwordBytes.default, {
    error: `must be at most ${LIMITS.passwordBytes.default} bytes`,
    params: { tooLarge: true },
  });

export const CreateRoomRequest = z.object({
  name: plainText("name", LIMITS.roomNameLength.default),
  password: RoomPassword.nullish(),
});
export type CreateRoomRequest = z.infer<typeof CreateRoomRequest>;

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
