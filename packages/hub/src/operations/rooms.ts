import {
  type CreateRoomRequest,
  type CreateRoomResponse,
  KEY_RIGHTS,
  randomBelow,
  type Room as RoomView,
} from "@roomhub/protocol";
import { mintHostToken } from "../credentials/tokens.ts";
import { noKeys, type RoomKey } from "../domain/keys/key-table.ts";
import { noAliases } from "../domain/aliases/alias-table.ts";
import { unusedRoomCode } from "../domain/room-code.ts";
import { newPlacing, type Room } from "../domain/room.ts";
import { roomView } from "../domain/views.ts";
import { HubError } from "../errors.ts";
import { maySee } from "./access.ts";
import type { OperationContext, Peer } from "./context.ts";
import { newKey, withValue } from "./keys.ts";
import type { EventListener } from "../events/audience.ts";
import type { EventBus } from "../events/bus.ts";
import { type StoredRoom, applyStored, roomFromStored } from "../storage/room-store.ts";

/**
 * Interface §4, `POST /rooms`. The room is on disk before the response is sent and the room is listed or announced, so
 * that no crash loses it. Contract §1.
 *
 * @throws HubError `operator_required`, `rate_limit_exceeded`, `room_limit_reached`
 */
export async function createRoom(
  context: OperationContext,
  request: CreateRoomRequest,
  peer: Peer,
): Promise<CreateRoomResponse> {
  const { registry, roomCreations, world } = context;
  if (context.roomCreators === "host" && !peer.isOperator) {
    throw new HubError("operator_required", "Only the operator of this hub creates rooms.", {
      hint: "Use one that exists: roomhub room list. The operator: roomhub room create NAME --operator-file PATH",
    });
  }
  const nowMs = context.nowMs();
  if (!roomCreations.isAllowed(peer.throttleKey, nowMs)) {
    throw new HubError("rate_limit_exceeded", "Too many rooms were created from this address.", {
      hint: "Use one that exists: roomhub room list. Or wait a minute.",
      retryAfterMs: roomCreations.retryAfterMs(peer.throttleKey, nowMs),
    });
  }
  makeSpace(context);
  roomCreations.record(peer.throttleKey, nowMs);
  const { token, digest } = mintHostToken(world);
  const isClosed = request.closed === true || context.newRoomsAreClosed;
  const first = isClosed ? newKey(context, { name: "host", may: [...KEY_RIGHTS] }) : undefined;
  const room = await newKeptRoom(context, request, digest, first?.key);
  registry.addRoom(room);
  const view = roomView(room);
  context.emit.roomCreated(view);
  const created = { room: view, hostId: room.hostId, hostToken: token.reveal() };
  return first === undefined ? created : { ...created, key: withValue(first, context.wallMs()) };
}

async function newKeptRoom(
  context: OperationContext,
  request: CreateRoomRequest,
  hostTokenDigest: Uint8Array,
  firstKey: RoomKey | undefined,
): Promise<Room> {
  for (;;) {
    const room = newRoom(context, request, hostTokenDigest, firstKey);
    if (await isKept(context, room, request.password ?? undefined)) return room;
  }
}

function newRoom(
  context: OperationContext,
  { name, password }: CreateRoomRequest,
  hostTokenDigest: Uint8Array,
  firstKey: RoomKey | undefined,
): Room {
  const { registry, world, wallMs } = context;
  return {
    id: world.randomUUID(),
    code: unusedRoomCode(
      (code) => registry.hasCode(code),
      (bound) => randomBelow(world, bound),
    ),
    name: name.normalize("NFC"),
    hostId: world.randomUUID(),
    createdAt: wallMs(),
    isPasswordProtected: (password ?? undefined) !== undefined,
    hostTokenDigest,
    aliases: noAliases,
    isClosed: firstKey !== undefined,
    keys: firstKey === undefined ? noKeys : noKeys.with(firstKey),
    bans: [],
    blocked: new Set<string>(),
    isDeleted: false,
    lastUsedAt: wallMs(),
    participants: new Map(),
    placing: newPlacing(),
  };
}

/** @returns false when another hub of the cluster has given the code to a room */
async function isKept(
  context: OperationContext,
  room: Room,
  password: string | undefined,
): Promise<boolean> {
  context.registry.reserve(room);
  try {
    if (password !== undefined) {
      context.roomPasswords.set(room.code, await context.passwordKeeper.fromPassword(password));
    }
    if (await context.rooms.keep(room)) return true;
  } catch (error) {
    forgetRoom(context, room);
    throw error;
  }
  forgetRoom(context, room);
  return false;
}

/** In a cluster: the rooms with participants at other hubs, by code. */
type RoomsElsewhere = ReadonlyMap<string, RoomView>;

/**
 * Interface §4, `GET /rooms`: in creation order. Closed rooms are in it for a peer that has a key of theirs.
 *
 * @param elsewhere - undefined for a hub that is alone
 */
export function listRooms(
  context: OperationContext,
  elsewhere: RoomsElsewhere | undefined,
  peer: Peer,
): RoomView[] {
  const { registry } = context;
  const views = [...registry.rooms()]
    .filter((room) => maySee(context, room, peer))
    .map((room) => viewOf(room, elsewhere));
  if (elsewhere === undefined) return views;
  const isNew = ({ code, closed }: RoomView) =>
    registry.findRoom(code) === undefined && closed !== true;
  // Hubs learn of each other's rooms in different orders, and of some only now.
  return [...views, ...[...elsewhere.values()].filter(isNew)].sort(
    (one, other) => one.createdAt - other.createdAt,
  );
}

/** The rooms with participants here: every hub of a cluster knows everything about the others. */
export function listRoomsInUse({ registry }: OperationContext): RoomView[] {
  return [...registry.rooms()].filter((room) => !isIdle(room)).map(roomView);
}

/** The open rooms, those with participants first, each group by last use. @returns also how many there are in all */
export function roomsLastUsed(
  { registry }: OperationContext,
  maxRooms: number,
  elsewhere: RoomsElsewhere | undefined,
): { rooms: RoomView[]; count: number } {
  const sorted = [...registry.rooms()]
    .filter((room) => !room.isClosed)
    .map((room) => ({ view: viewOf(room, elsewhere), lastUsedAt: room.lastUsedAt }))
    .sort(
      (one, other) =>
        Number(isEmpty(one.view)) - Number(isEmpty(other.view)) ||
        other.lastUsedAt - one.lastUsedAt,
    );
  return { rooms: sorted.slice(0, maxRooms).map(({ view }) => view), count: sorted.length };
}

function viewOf(room: Room, elsewhere: RoomsElsewhere | undefined): RoomView {
  return (isIdle(room) ? elsewhere?.get(room.code) : undefined) ?? roomView(room);
}

function isEmpty({ participantCount }: RoomView): boolean {
  return participantCount === 0;
}

/** @throws HubError `room_not_found` */
export function getRoom({ registry }: OperationContext, code: string): RoomView {
  return roomView(registry.room(code));
}

/** The same, and marks the room as used. @throws HubError `room_not_found` */
export function useRoom(context: OperationContext, code: string): RoomView {
  const room = context.registry.room(code);
  room.lastUsedAt = context.wallMs();
  return roomView(room);
}

/** Contract §1: a room unused for 30 days is dropped. @returns how many were */
export function dropUnusedRooms(context: OperationContext): number {
  const oldest = context.wallMs() - context.limits.roomExpiryMs;
  const unused = [...context.registry.rooms()].filter(
    (room) =>
      mayBeDropped(context, room) && room.lastUsedAt < oldest && context.rooms.isOurs(room.code),
  );
  for (const room of unused) dropRoom(context, room);
  return unused.length;
}

/** At the room limit, drops the room that has been unused longest, for at least 24 h. Contract §1. */
function makeSpace(context: OperationContext): void {
  const { registry, limits } = context;
  if (registry.roomCount < limits.rooms) return;
  const oldest = context.wallMs() - limits.roomEvictionAgeMs;
  const evictable = [...registry.rooms()]
    .filter((room) => mayBeDropped(context, room) && room.lastUsedAt < oldest)
    .sort((one, other) => one.lastUsedAt - other.lastUsedAt)[0];
  if (evictable === undefined) {
    throw new HubError("room_limit_reached", `This hub already holds ${limits.rooms} rooms.`, {
      hint: "Use one that exists: roomhub room list. The host can raise ROOMHUB_ROOMS.",
    });
  }
  dropRoom(context, evictable);
}

function isIdle(room: Room): boolean {
  return room.participants.size === 0;
}

/** A closed room is kept for those who have its keys. Contract §9. */
function mayBeDropped({ wallMs }: OperationContext, room: Room): boolean {
  return isIdle(room) && !(room.isClosed && room.keys.hasLive(wallMs()));
}

function dropRoom(context: OperationContext, room: Room): void {
  forgetRoom(context, room);
  void context.rooms.drop(room);
}

export function forgetRoom(context: OperationContext, room: Room): void {
  context.registry.removeRoom(room);
  context.roomPasswords.delete(room.code);
  context.roomDropped(room.code);
}

/** A watcher that opens a stream this soon after the creation of a room still gets its `room.created`. Contract §5. */
const newRoomMs = 5_000;

/**
 * The events of a room as values, for a program around the hub.
 *
 * @returns how to stop
 * @throws HubError `room_not_found`
 */
export function watchRoom(
  context: OperationContext,
  bus: EventBus,
  code: string,
  listener: EventListener,
): () => void {
  const room = useRoom(context, code);
  if (isNewRoom(context, bus, room)) {
    const timestamp = new Date(room.createdAt).toISOString();
    listener([{ type: "room.created", timestamp, roomCode: room.code, room }]);
  }
  return bus.listen(room.code, listener);
}

/** The wall clock may have been set back, and a restarted hub gives the event's id to another event. */
export function isNewRoom(context: OperationContext, bus: EventBus, room: RoomView): boolean {
  const ageMs = context.wallMs() - room.createdAt;
  return ageMs >= 0 && ageMs <= newRoomMs && bus.hasCreated(room.code);
}

/**
 * Takes a room of the cluster as another hub created or changed it. Contract §8.
 *
 * @param isNew - announces it: it was created while this hub was running
 */
export function takeSharedRoom(
  { registry, roomPasswords, passwordKeeper, emit }: OperationContext,
  stored: StoredRoom,
  isNew: boolean,
): void {
  const { code, passwordDigest } = stored;
  const known = registry.findRoom(code);
  if (known !== undefined) {
    known.lastUsedAt = Math.max(known.lastUsedAt, stored.lastUsedAt);
    applyStored(known, stored);
    known.name = stored.name;
    known.isPasswordProtected = passwordDigest !== undefined;
    if (passwordDigest === undefined) roomPasswords.delete(code);
    else if (roomPasswords.get(code)?.stored !== passwordDigest)
      roomPasswords.set(code, passwordKeeper.fromStored(passwordDigest));
    return;
  }
  // A room that is being created here is added by that operation.
  if (registry.hasCode(code)) return;
  const room = roomFromStored(stored);
  if (passwordDigest !== undefined) {
    roomPasswords.set(code, passwordKeeper.fromStored(passwordDigest));
  }
  registry.addRoom(room);
  if (isNew) emit.roomCreated(roomView(room));
}

/** Another hub dropped a room. */
export function forgetSharedRoom(context: OperationContext, code: string): void {
  const room = context.registry.findRoom(code);
  if (room !== undefined) forgetRoom(context, room);
}
