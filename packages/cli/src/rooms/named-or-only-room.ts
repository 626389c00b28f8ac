import type { Invite } from "@roomhub/client";
import type { CliContext } from "../context.ts";
import { inviteOf } from "../options.ts";
import { noRoomAt, severalRooms } from "./choose-room.ts";

/**
 * The room that an argument names, which must exist, or the only one of the hub.
 *
 * @param command - which needs the room, for the lines to paste when there are several
 * @throws RoomhubError, HubUnreachableError, CommandError when no room is named and the hub has not exactly one
 */
export async function namedOrOnlyRoom(
  context: CliContext,
  room: string | undefined,
  options: { hub: string },
  command: string,
): Promise<Invite> {
  if (room !== undefined) {
    const invite = inviteOf(room, options);
    await context.createClient(invite.hubUrl).getRoom(invite.room);
    return invite;
  }
  const rooms = await context.createClient(options.hub).listRooms();
  const [only] = rooms;
  if (only === undefined) throw noRoomAt(context, options.hub);
  if (rooms.length === 1) return { hubUrl: options.hub, room: only.code };
  const found = rooms.map((each) => ({ hubUrl: options.hub, room: each }));
  throw severalRooms(context, found, (url) => `${command} ${url}`);
}
