import { z } from "zod";
import { UnreachableHub } from "./cluster.ts";

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
/** Response to `GET /rooms`. */
export const RoomListResponse = z.object({
  rooms: z.array(Room),
  /** In a cluster, hubs that did not respond: their rooms are listed without their participants. Contract §8. */
  unreachable: z.array(UnreachableHub).optional(),
});
export type RoomListResponse = z.infer<typeof RoomListResponse>;
