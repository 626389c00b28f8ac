import type { Invite } from "@roomhub/client";
import type { CreateRoomResponse } from "@roomhub/protocol";
import type { CliContext, Client } from "../context.ts";

/** What the saved token belongs to: a room has one. */
const host = "host";

/**
 * Creates a room, and saves its host token for later commands. A token that cannot be saved is a warning: the room is
 * there, and the hub's own machine needs no token.
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
    const tokens = await context.hostTokens();
    await tokens.save({ hubUrl, room: room.code, id: host, token: hostToken });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    context.stderr.write(`! The host token of room ${room.code} could not be saved: ${reason}\n`);
  }
  return created;
}

/** The host token of a room that was created from this machine. */
export async function savedHostToken(
  context: CliContext,
  { hubUrl, room }: Invite,
): Promise<string | undefined> {
  const saved = await (await context.hostTokens()).find(host);
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
