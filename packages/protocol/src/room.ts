import { z } from "zod";
import { UnreachableHub } from "./cluster.ts";
import { NewKey } from "./key.ts";

/** Interface §2; `createdAt` in epoch ms; `passwordProtected` and `participantCount` are additions of contract §1. */
export const Room = z.object({
  id: z.uuid(),
  code: z.string(),
  name: z.string(),
  hostId: z.uuid(),
  createdAt: z.number(),
  passwordProtected: z.boolean(),
  participantCount: z.int(),
  /** Its use needs a key. Absent for an open room. Contract §9. */
  closed: z.literal(true).optional(),
});
export type Room = z.infer<typeof Room>;

/** Response to `POST /rooms`. */
export const CreateRoomResponse = z.object({
  room: Room,
  hostId: z.uuid(),
  /** `rhh_` and 32 random bytes in base64url: shows who created the room, and is in no other response. Older hubs have none. Contract §3 */
  hostToken: z.string().optional(),
  /** the first key of a closed room */
  key: NewKey.optional(),
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

/** A name, or names of one form, that stand for others in a room. Contract §3, "Aliases". */
export const Alias = z.object({
  /** compared with the `model` field of requests; `*` stands for any text, also for none */
  pattern: z.string(),
  /** values of the `model` field, in the order in which they are tried */
  targets: z.array(z.string()).min(1),
  /** epoch ms */
  createdAt: z.number(),
});
export type Alias = z.infer<typeof Alias>;

/** Response to `POST …/aliases`. */
export const AliasResponse = z.object({ alias: Alias });
export type AliasResponse = z.infer<typeof AliasResponse>;

/** Response to `GET …/aliases`, the oldest first. */
export const AliasListResponse = z.object({ aliases: z.array(Alias) });
export type AliasListResponse = z.infer<typeof AliasListResponse>;
