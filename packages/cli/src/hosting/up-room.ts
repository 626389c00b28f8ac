import type { Room } from "@roomhub/protocol";
import type { Client } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";

/**
 * The room of that name: the one from last time when the hub still knows it, so that invitations keep working, else a
 * new one.
 *
 * @throws CommandError when the old room has a password and none is given, or the other way round
 */
export async function findOrCreateRoom(
  client: Client,
  name: string,
  password: string | undefined,
): Promise<Room> {
  const rooms = await client.listRooms();
  const known = rooms.find((room) => room.name === name);
  if (known === undefined) return (await client.createRoom({ name, password })).room;
  if (known.passwordProtected && password === undefined) {
    throw new CommandError(
      `The room "${name}" (${known.code}) has a password`,
      "give it with --password-env VARIABLE, or open another room with --room NAME",
      EXIT.refused,
    );
  }
  if (!known.passwordProtected && password !== undefined) {
    throw new CommandError(
      `The room "${name}" (${known.code}) exists without a password`,
      "open another room with --room NAME, or leave the password out",
    );
  }
  return known;
}
