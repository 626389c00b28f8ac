import type { Invite } from "@roomhub/client";
import type { CreateRoomResponse, Room } from "@roomhub/protocol";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import { reasonOf } from "../terminal/text.ts";
import { CommandError, EXIT } from "../exit-code.ts";

/** What the saved token belongs to: a room has one. */
const host = "host";

/**
 * Creates a room, and saves its host token for later commands. A token that cannot be saved is a warning: the room is
 * created, and commands on the hub's machine need no token.
 *
 * @param hubUrl - normalised
 */
export async function createHostedRoom(
  context: CliContext,
  client: Client,
  hubUrl: string,
  wanted: { name: string; password: string | undefined },
): Promise<CreateRoomResponse> {
  const created = await client.createRoom(wanted);
  const { room, hostToken } = created;
  if (hostToken === undefined) return created;
  try {
    const tokens = await context.savedTokens("hosts");
    await tokens.save({ hubUrl, room: room.code, id: host, token: hostToken });
  } catch (error) {
    context.stderr.write(
      `! The host token of room ${room.code} could not be saved: ${reasonOf(error)}\n`,
    );
  }
  return created;
}

/** The host token of a room that was created from this machine. */
export async function savedHostToken(
  context: CliContext,
  { hubUrl, room }: Invite,
): Promise<string | undefined> {
  const saved = await (await context.savedTokens("hosts")).find(host);
  return saved.find((one) => one.hubUrl === hubUrl && one.room === room)?.token;
}

/** Every name that is no id and no model of the room reaches any participant. Contract §3, "Aliases". */
export async function serveAnyModel(
  client: Client,
  room: string,
  hostToken: string | undefined,
): Promise<void> {
  await client.setAlias(room, "*", ["*"], { hostToken });
}

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
