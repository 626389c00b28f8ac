import type { Room } from "@roomhub/protocol";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { createHostedRoom } from "../rooms/host-token.ts";

/**
 * The hub's room of that name, so that invitations keep working across restarts, else a new one.
 *
 * @throws CommandError when the old room has a password and none is given, or the other way round
 */
export async function findOrCreateRoom(
  context: CliContext,
  hubUrl: string,
  name: string,
  password: string | undefined,
): Promise<Room> {
  const client = context.createClient(hubUrl);
  const rooms = await client.listRooms();
  const known = rooms.find((room) => room.name === name);
  if (known === undefined) {
    return (await createHostedRoom(context, client, hubUrl, { name, password })).room;
  }
  if (known.passwordProtected && password === undefined) {
    throw new CommandError(
      `The room "${name}" (${known.code}) has a join password`,
      "pass it with --password-env VARIABLE, or create another room with --room NAME",
      EXIT.refused,
    );
  }
  if (!known.passwordProtected && password !== undefined) {
    throw new CommandError(
      `The room "${name}" (${known.code}) has no join password`,
      "create another room with --room NAME, or leave out the join password",
    );
  }
  return known;
}
