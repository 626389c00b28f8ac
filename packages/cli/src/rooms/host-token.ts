import { type Invite, isRoomhubError, type RoomHost } from "@roomhub/client";
import { type CreateRoomResponse, KEY_RIGHTS, type Room } from "@roomhub/protocol";
import type { Command } from "commander";
import type { Client } from "../capabilities.ts";
import type { CliContext } from "../context.ts";
import type { RoomhubCommand } from "../options.ts";
import { envSecret } from "../secrets.ts";
import { reasonOf } from "../terminal/text.ts";
import { CommandError, EXIT, readable } from "../exit-code.ts";

/** What the saved token belongs to: a room has one. */
const host = "host";

interface WantedRoom {
  name: string;
  password: string | undefined;
  closed?: boolean | undefined;
  /** for a hub on which only its operator creates rooms */
  operatorSecret?: string | undefined;
}

/**
 * Creates a room, and saves its host token for later commands, and its first key when it is closed. A token that cannot be
 * saved is a warning: the room is created, and most commands on the hub's machine need no token.
 *
 * @param hubUrl - normalised
 */
export async function createHostedRoom(
  context: CliContext,
  client: Client,
  hubUrl: string,
  { operatorSecret, ...wanted }: WantedRoom,
): Promise<CreateRoomResponse> {
  const created = await client.createRoom(wanted, { operatorSecret });
  const { room, hostToken, key } = created;
  if (key !== undefined) await context.roomKeys.save({ hubUrl, room: room.code }, key.value);
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
  return (await context.savedTokens("hosts")).tokenOf({ hubUrl, room, id: host });
}

/** The room was deleted: its host token and its key prove nothing. */
export async function forgetRoom(context: CliContext, invite: Invite): Promise<void> {
  await (await context.savedTokens("hosts")).forget({ ...invite, id: host });
  await context.roomKeys.forget(invite);
}

/** What shows that the person at this command is the host: the saved token, unless an option names another proof. */
export interface HostOptionValues {
  tokenEnv?: string;
  operatorFile?: string;
}

/** A command of a room's host. */
export function hostCommand(parent: RoomhubCommand, name: string): RoomhubCommand {
  return parent.command(name).hubOptions().with(addHostOptions).roomArgument();
}

export function addHostOptions(command: Command): void {
  command
    .option(
      "--token-env <variable>",
      "the room's host token, from an environment variable (default: saved at its creation)",
    )
    .option(
      "--operator-file <path>",
      "act as the operator of the hub: its file operator-secret, beside its rooms' state file",
    );
}

/** What the host may do in a room. @throws UsageError for a proof that cannot be read */
export async function roomAsHost(
  context: CliContext,
  invite: Invite,
  { tokenEnv, operatorFile }: HostOptionValues = {},
): Promise<RoomHost> {
  const hub = context.createClient(invite.hubUrl);
  if (operatorFile !== undefined) {
    return hub.asHost(invite.room, {
      operatorSecret: await readOperatorFile(context, operatorFile),
    });
  }
  const hostToken =
    tokenEnv === undefined ? await savedHostToken(context, invite) : envSecret(context, tokenEnv);
  if (hostToken !== undefined) return hub.asHost(invite.room, { hostToken });
  throw new CommandError(
    `The host token of room ${invite.room} is not on this machine`,
    "use the machine on which the room was created, pass the token with --token-env VARIABLE, or act as the hub's operator with --operator-file PATH",
    EXIT.refused,
  );
}

export async function readOperatorFile(context: CliContext, path: string): Promise<string> {
  return (await readable(`The file ${path}`, context.readFile(path))).trim();
}

const mostOwnKeys = 9;

/** Creates a key for the host and keeps it for later commands on this machine, unless it has one. */
export async function ensureOwnKey(
  context: CliContext,
  invite: Invite,
  asHost: RoomHost,
): Promise<void> {
  if ((await context.roomKeys.of(invite)) !== undefined) return;
  for (let number = 1; ; number++) {
    const name = number === 1 ? host : `${host}-${number}`;
    try {
      const { value } = await asHost.createKey({ name, may: [...KEY_RIGHTS] });
      return await context.roomKeys.save(invite, value);
    } catch (error) {
      // The host has used another machine, too.
      if (!isRoomhubError(error, "key_name_taken") || number === mostOwnKeys) throw error;
    }
  }
}

/** Lets every unknown model name reach any participant. Contract §3, "Aliases". */
export async function serveAnyModel(context: CliContext, invite: Invite): Promise<void> {
  const hostToken = await savedHostToken(context, invite);
  await context.createClient(invite.hubUrl).setAlias(invite.room, "*", ["*"], { hostToken });
}

/**
 * The hub's room of that name, so that invitations keep working across restarts, else a new one.
 *
 * @throws CommandError when the old room has a password and none is given, or the other way round
 */
export async function findOrCreateRoom(
  context: CliContext,
  hubUrl: string,
  wanted: WantedRoom,
): Promise<Room> {
  const { name, password } = wanted;
  const client = context.createClient(hubUrl);
  const rooms = await client.listRooms();
  const known = [...rooms, ...(await hostedRooms(context, client, hubUrl, rooms))].find(
    (room) => room.name === name,
  );
  if (known === undefined) {
    return (await createHostedRoom(context, client, hubUrl, wanted)).room;
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

/** The rooms that were created from this machine and that the hub's list leaves out, since they are closed. */
export async function hostedRooms(
  context: CliContext,
  client: Client,
  hubUrl: string,
  listed: readonly Room[],
): Promise<Room[]> {
  const saved = await (await context.savedTokens("hosts")).find(host).catch(() => []);
  const hosted = saved.filter(
    (one) => one.hubUrl === hubUrl && !listed.some(({ code }) => code === one.room),
  );
  const found = hosted.map(({ room, token }) =>
    client
      .asHost(room, { hostToken: token })
      .room()
      // It was dropped meanwhile.
      .catch(() => undefined),
  );
  return (await Promise.all(found)).filter((room) => room !== undefined);
}
