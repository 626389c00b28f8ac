import { InvalidHubUrlError, type Invite, normaliseHubUrl, parseInvite } from "@roomhub/client";
import type { CliContext } from "../context.ts";
import type { HubOptionValues } from "../options.ts";
import { explainOtherServer } from "../sharing/found-server.ts";
import { waitingFor } from "../terminal/interactivity.ts";
import { noRoomAt, severalRooms } from "./choose-room.ts";
import { findRooms, isAtDefaultHub } from "./find-rooms.ts";
import { defaultHubUrl, withPort } from "./hub-address.ts";

/** A hub, and a room if one was named. */
export interface Target {
  hubUrl: string;
  room: string | undefined;
}

/** With JSON nothing is said while the network is searched. */
type LocateOptions = Pick<HubOptionValues, "namedHub" | "json">;

/**
 * Resolves an argument to a hub, and to a room if it names one. A bare room code is looked up on this machine first, then
 * on the network.
 *
 * @param target - a room code, an invite URL, a hub URL, a host name, or nothing
 * @throws InvalidHubUrlError
 */
export async function locate(
  context: CliContext,
  target: string | undefined,
  { namedHub: hubUrl, json: isQuiet = false }: LocateOptions,
): Promise<Target> {
  if (target === undefined) return { hubUrl: hubUrl ?? defaultHubUrl, room: undefined };
  const invite = inviteIn(target, hubUrl ?? defaultHubUrl);
  if (invite === undefined) return { hubUrl: normaliseHubUrl(withPort(target)), room: undefined };
  const isElsewhere = hubUrl !== undefined || invite.hubUrl !== defaultHubUrl;
  if (isElsewhere || (await isAtDefaultHub(context, invite.room))) return invite;
  const search = findRooms(context, ({ code }) => code === invite.room);
  const what = "Searching the network for the room";
  const { rooms } = await waitingFor(context, what, search, { isQuiet });
  const match = rooms.find(({ room }) => room.code === invite.room);
  return match === undefined ? invite : { hubUrl: match.hubUrl, room: invite.room };
}

/**
 * The room that an argument names, which must exist, or the only one of the hub.
 *
 * @param asCommand - the command for a room's URL, without the program's name, to paste when there are several
 * @throws InvalidHubUrlError, RoomhubError, HubUnreachableError, CommandError when no room is named and the hub has not exactly one
 */
export async function locateRoom(
  context: CliContext,
  target: string | undefined,
  options: LocateOptions,
  asCommand: (url: string) => string,
): Promise<Invite> {
  const { hubUrl, room } = await locate(context, target, options);
  const client = context.createClient(hubUrl);
  if (room !== undefined) {
    await client.getRoom(room);
    return { hubUrl, room };
  }
  const rooms = await client.listRooms().catch(async (error: unknown) => {
    throw await explainOtherServer(context, hubUrl, error);
  });
  const [only] = rooms;
  if (only === undefined) throw noRoomAt(context, hubUrl);
  if (rooms.length === 1) return { hubUrl, room: only.code };
  const found = rooms.map((each) => ({ hubUrl, room: each }));
  throw severalRooms(context, found, asCommand);
}

/** @returns undefined when the target is a hub URL without a room */
function inviteIn(target: string, hubUrl: string): Invite | undefined {
  if (/^localhost$/i.test(target)) return undefined;
  try {
    return parseInvite(target, hubUrl);
  } catch (error) {
    if (error instanceof InvalidHubUrlError && /[./:]/.test(target) && !/\/rooms\//.test(target)) {
      return undefined;
    }
    throw error;
  }
}
