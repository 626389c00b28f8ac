import { type Invite, parseInvite } from "@roomhub/client";
import type { CliContext } from "../context.ts";
import { defaultHubUrl, hubIdOf } from "../rooms/hub-address.ts";
import { CommandError } from "../exit-code.ts";
import { reasonOf, shellWord } from "../terminal/text.ts";

/** What the saved key of a door belongs to: a room has one. */
const own = "door";

/** How clients reach a room through its door. */
export interface DoorAccess {
  baseUrl: string;
  key: string;
}

export function doorUrl(port: number): string {
  return `http://127.0.0.1:${port}/v1`;
}

/**
 * The API key of a room's door, the same at each start, so that what is set in an editor stays right.
 *
 * @param isNew - whether another one takes its place
 */
export async function doorKey(context: CliContext, room: Invite, isNew: boolean): Promise<string> {
  const saved = isNew ? undefined : await savedKey(context, room);
  if (saved !== undefined) return saved;
  const key = newDoorKey(context);
  try {
    const tokens = await context.savedTokens("doors");
    await tokens.save({ hubUrl: hubIdOf(room.hubUrl), room: room.room, id: own, token: key });
  } catch (error) {
    context.stderr.write(
      `! The key of this door could not be saved, so env and launch do not use it: ${reasonOf(error)}\n`,
    );
  }
  return key;
}

export function newDoorKey({ world }: CliContext): string {
  return `rhd_${Buffer.from(world.randomBytes(32)).toString("base64url")}`;
}

/**
 * The door that other programs have to use, or undefined where they can use the hub's own URL.
 *
 * @throws CommandError when the hub's key is pinned, which they cannot check, and no door is open
 */
export async function requiredDoor(
  context: CliContext,
  room: Invite,
): Promise<DoorAccess | undefined> {
  const door = await accessByDoor(context, room);
  if (door !== undefined || (await context.pins.of(room.hubUrl)) === undefined) return door;
  throw new CommandError(
    `Other programs cannot check the pinned key of the hub at ${room.hubUrl}`,
    `open a door for them, and leave it open: ${context.commandName} open ${shellWord(`${room.hubUrl}/rooms/${room.room}`)}`,
  );
}

/** The door that is open for a room on this machine. */
export async function accessByDoor(
  context: CliContext,
  { hubUrl, room }: Invite,
): Promise<DoorAccess | undefined> {
  const doors = await context.openDoors();
  const door = (await doors.list()).find(
    (one) => one.room === room && hubIdOf(one.hubUrl) === hubIdOf(hubUrl),
  );
  if (door === undefined) return undefined;
  const key = await savedKey(context, door);
  return key === undefined ? undefined : { baseUrl: doorUrl(door.port), key };
}

/**
 * The room that a bare code means where a door is open for one with this code.
 *
 * @param hubUrl - the default one, or none: a code at another hub is another room
 */
export async function roomOfDoor(
  context: CliContext,
  code: string,
  hubUrl: string | undefined,
): Promise<Invite | undefined> {
  const isElsewhere = hubUrl !== undefined && hubUrl !== defaultHubUrl;
  if (isElsewhere || !/^[A-Za-z0-9]{1,32}$/.test(code)) return undefined;
  const { room } = parseInvite(code, defaultHubUrl);
  const doors = (await (await context.openDoors()).list()).filter((one) => one.room === room);
  const [only] = doors;
  return doors.length === 1 && only !== undefined ? { hubUrl: only.hubUrl, room } : undefined;
}

async function savedKey(
  context: CliContext,
  { hubUrl, room }: Invite,
): Promise<string | undefined> {
  const tokens = await context.savedTokens("doors");
  return tokens.tokenOf({ hubUrl: hubIdOf(hubUrl), room, id: own });
}
