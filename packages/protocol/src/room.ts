import { z } from "zod";

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

/** Response to `POST /rooms`. */
export const CreateRoomResponse = z.object({
  room: Room,
  hostId: z.uuid(),
  /** `rhh_` and 32 random bytes in base64url: shows who created the room, and is in no other response. Older hubs have none. Contract §3 */
  hostToken: z.string().optional(),
});
export type CreateRoomResponse = z.infer<typeof CreateRoomResponse>;

export const RoomResponse = z.object({ room: Room });
export const RoomListResponse = z.object({ rooms: z.array(Room) });
