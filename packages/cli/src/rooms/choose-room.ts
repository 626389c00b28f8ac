import {
  HubUnreachableError,
  InvalidHubUrlError,
  type Invite,
  normaliseHubUrl,
  parseInvite,
  RoomhubError,
} from "@roomhub/client";
import { ERROR_STATUS, normaliseRoomCode, type Room, timeoutSignal } from "@roomhub/protocol";
import { type Interactivity, waitingFor } from "../terminal/interactivity.ts";
import type { CliContext } from "../context.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import {
  type Found,
  findRooms,
  type FoundRoom,
  isAtDefaultHub,
  joinable,
  searchMs,
} from "./find-rooms.ts";
import { defaultHubUrl, withPort } from "./hub-address.ts";
import { nearest } from "../terminal/nearest.ts";
import { unreachableHubHint } from "./hub-hint.ts";
import { modelServerProblem } from "../sharing/found-server.ts";
import { countOf, safe, shellWord } from "../terminal/text.ts";

/** The room as named on the command line. */
export interface RequestedRoom {
  /** a room code, an invite URL, a hub's URL, or nothing */
  given: string | undefined;
  /** undefined without `--hub` or its variable */
  hubUrl: string | undefined;
}

/** The command that needs the room, for the lines to paste. */
type Needing = "join" | "chat" | "open" | `launch ${string}`;

/**
 * The room to use: the named one, else the only one, at the named hub, on this machine, or on its network.
 *
 * @throws CommandError that lists the candidates, InvalidHubUrlError
 */
export async function chooseRoom(
  context: CliContext,
  { given, hubUrl }: RequestedRoom,
  interactivity: Interactivity,
  command: Needing = "join",
): Promise<Invite> {
  const asked = { ...interactivity, command };
  if (given !== undefined && !isCode(given) && !isName(given)) {
    return inviteOrHub(context, given, asked);
  }
  if (hubUrl !== undefined) {
    return given === undefined ? roomAt(context, hubUrl, asked) : parseInvite(given, hubUrl);
  }
  if (given !== undefined) return roomOfCode(context, given, asked);
  const found = await search(context, interactivity);
  if (found.rooms.length === 0) throw nothingFound(context, found, command);
  return chooseAmong(context, found.rooms, asked);
}

/** Whether a prompt for the room can be shown, and the command that needs it. */
type Asked = Interactivity & { command: Needing };

/** The error for an unknown room code, with the hub's rooms from a second request. */
export async function explainUnknownRoom(
  context: CliContext,
  { hubUrl, room }: Invite,
  error: RoomhubError,
  command: Needing = "join",
): Promise<unknown> {
  const signal = timeoutSignal(context.world, searchMs);
  const rooms = await context
    .createClient(hubUrl)
    .listRooms({ signal })
    .catch(() => undefined);
  if (rooms === undefined) return error;
  const known = joinable(rooms).map((entry) => ({ hubUrl, room: entry }));
  const message = `The hub at ${hubUrl} has no room ${room}`;
  return unknownRoom(context, message, room, known, command);
}

/** The error for a hub without rooms. */
export function noRoomAt(context: CliContext, hubUrl: string): CommandError {
  return new CommandError(
    `The hub at ${hubUrl} has no rooms`,
    `create one: ${createRoomCommand(context, hubUrl)}`,
    EXIT.notFound,
  );
}

/** A line to paste. */
export function createRoomCommand({ commandName }: CliContext, hubUrl: string): string {
  const hub = hubUrl === defaultHubUrl ? "" : ` --hub ${hubUrl}`;
  return `${commandName} room create "my room"${hub}`;
}

/** The error when the named hub does not respond. */
export function unreachableHub(context: CliContext, error: HubUnreachableError): CommandError {
  return new CommandError(error.message, unreachableHubHint(context, error), EXIT.unreachable);
}

/** A URL without a room may be a hub's; when no hub responds, the missing room is the error. */
async function inviteOrHub(context: CliContext, text: string, asked: Asked): Promise<Invite> {
  let noInvite: InvalidHubUrlError;
  try {
    return parseInvite(text, "");
  } catch (error) {
    if (!(error instanceof InvalidHubUrlError)) throw error;
    noInvite = error;
  }
  try {
    return await roomAt(context, text, asked);
  } catch (error) {
    if (!(error instanceof RoomhubError)) throw error;
    // An error code of roomhub means a hub with a wrong path; other errors come from another server.
    throw error.code in ERROR_STATUS
      ? noInvite
      : ((await modelServerProblem(context, normaliseHubUrl(text))) ?? noHubAt(text));
  }
}

function noHubAt(text: string): CommandError {
  return new CommandError(
    `The server at ${text} is not a roomhub hub`,
    "pass a room code, or its URL: http://192.168.1.5:5050/rooms/ABC234",
    EXIT.usage,
  );
}

/** Resolves a hub URL, which names no room, to one of its rooms. */
async function roomAt(context: CliContext, text: string, asked: Asked): Promise<Invite> {
  const hubUrl = normaliseHubUrl(withPort(text));
  const client = context.createClient(hubUrl);
  const listing = client.listRooms().catch((error: unknown) => {
    throw error instanceof HubUnreachableError ? unreachableHub(context, error) : error;
  });
  const what = `Waiting for ${hubUrl} to list its rooms`;
  const rooms = joinable(await waitingFor(context, what, listing, asked));
  if (rooms.length === 0) throw noRoomAt(context, hubUrl);
  const found = rooms.map((room) => ({ hubUrl, room }));
  return chooseAmong(context, found, asked);
}

/** Queries this machine's hub first, since it responds at once, while searching the network takes a moment. */
async function roomOfCode(context: CliContext, given: string, asked: Asked): Promise<Invite> {
  const code = normaliseRoomCode(given);
  const isHere = isCode(given) && (await isAtDefaultHub(context, code));
  if (isHere) return { hubUrl: defaultHubUrl, room: code };
  const found = await search(context, asked, code);
  const match = found.rooms.find(({ room }) => room.code === code);
  if (match !== undefined) return { hubUrl: match.hubUrl, room: code };
  if (found.hubUrls.length === 0) throw nothingFound(context, found, asked.command);
  const message = `No hub on this machine or its network has a room ${given}`;
  throw unknownRoom(context, message, code, found.rooms, asked.command);
}

function search(context: CliContext, interactivity: Interactivity, code?: string): Promise<Found> {
  const searching = findRooms(context, (room) => room.code === code);
  const what = `Searching this machine and its network for hubs (${searchMs / 1000} s)`;
  return waitingFor(context, what, searching, { ...interactivity, afterMs: 100 });
}

async function chooseAmong(
  context: CliContext,
  rooms: readonly FoundRoom[],
  { canAsk, command }: Asked,
): Promise<Invite> {
  const [first] = rooms;
  if (first !== undefined && rooms.length === 1) return inviteTo(first);
  if (!canAsk) throw severalRooms(context, rooms, (url) => `${command} ${url}`);
  // Enter picks the first choice, which should not be a leftover empty room.
  const isEmpty = ({ room }: FoundRoom) => Number(room.participantCount === 0);
  const emptyLast = rooms.toSorted((one, other) => isEmpty(one) - isEmpty(other));
  const choices = emptyLast.map((found) => ({
    value: found,
    label: `${safe(found.room.name)} (${safe(found.room.code)})`,
    hint: `${sizeOf(found.room)}, ${found.hubUrl.replace("http://", "")}`,
  }));
  return inviteTo(await context.prompts.pickOne("Select a room", choices));
}

function nothingFound(
  context: CliContext,
  { hubUrls, problem }: Found,
  command: Needing,
): CommandError {
  const program = context.commandName;
  const [hubUrl] = hubUrls;
  if (hubUrl !== undefined) return noRoomAt(context, hubUrl);
  const reason = problem === undefined ? "" : ` (the network could not be searched: ${problem})`;
  return new CommandError(
    `No hub found on this machine or its network${reason}`,
    `ask the host for the invite URL: ${program} ${command} http://HOST:5050/rooms/CODE; or host a room: ${program} up --lan`,
    EXIT.unreachable,
  );
}

/**
 * The error when no room is named and there are several.
 *
 * @param asCommand - the command for a room's URL, without the program's name
 */
export function severalRooms(
  context: CliContext,
  rooms: readonly FoundRoom[],
  asCommand: (url: string) => string,
): CommandError {
  return new CommandError(
    `There are ${rooms.length} rooms to choose from`,
    "name one:",
    EXIT.usage,
    linesFor(context, rooms, asCommand),
  );
}

const listed = 8;

function unknownRoom(
  context: CliContext,
  message: string,
  code: string,
  rooms: readonly FoundRoom[],
  command: Needing,
): CommandError {
  if (rooms.length === 0) {
    return new CommandError(message, "ask the host for the invite URL", EXIT.notFound);
  }
  const meant = nearest(
    normaliseRoomCode(code),
    rooms.map(({ room }) => room.code),
  );
  const named = rooms.filter(({ room }) => room.name.toLowerCase() === code.toLowerCase());
  const near = named.length > 0 ? named : rooms.filter(({ room }) => room.code === meant);
  const [hint, shown] = near.length > 0 ? ["did you mean:", near] : ["available rooms:", rooms];
  return new CommandError(
    message,
    hint,
    EXIT.notFound,
    linesFor(context, shown, (url) => `${command} ${url}`),
  );
}

/** Lines to paste. */
function linesFor(
  context: CliContext,
  rooms: readonly FoundRoom[],
  asCommand: (url: string) => string,
): string[] {
  const lines = rooms.slice(0, listed).map(({ hubUrl, room }) => {
    const url = shellWord(`${hubUrl}/rooms/${room.code}`);
    return `${context.commandName} ${asCommand(url)}  # ${room.name}, ${sizeOf(room)}`;
  });
  const more = rooms.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more`] : lines;
}

/** `1 participant`, `12 participants, join password` */
export function sizeOf({ participantCount, passwordProtected, closed }: Room): string {
  const count = countOf(participantCount, "participant");
  return `${count}${passwordProtected ? ", join password" : ""}${closed === true ? ", closed" : ""}`;
}

function inviteTo({ hubUrl, room }: FoundRoom): Invite {
  return { hubUrl, room: room.code };
}

/** Whether the text can only be a room's name, not a code, host or URL. */
function isName(text: string): boolean {
  return /[\p{L}\p{N}][\s'’]+[\p{L}\p{N}]/u.test(text) && !text.includes("/");
}

function isCode(text: string): boolean {
  return /^[A-Za-z0-9]{1,32}$/.test(text.trim()) && text !== "localhost";
}
