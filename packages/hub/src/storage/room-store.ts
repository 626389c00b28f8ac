import {
  Alias as AliasSchema,
  Key as KeySchema,
  parseJson,
  Room as RoomSchema,
} from "@roomhub/protocol";
import { type Alias, AliasTable, withoutChains } from "../domain/aliases/alias-table.ts";
import type { Ban } from "../domain/keys/bans.ts";
import { KeyTable, noKeys, type RoomKey } from "../domain/keys/key-table.ts";
import { TokenDay } from "../domain/keys/token-day.ts";
import { parseStoredDigest } from "../stored-digest.ts";
import { newPlacing, type Room } from "../domain/room.ts";

/** What of a room survives a restart, and nothing else. Contract §1. */
export interface StoredRoom {
  id: string;
  code: string;
  name: string;
  hostId: string;
  /** epoch ms */
  createdAt: number;
  /** epoch ms */
  lastUsedAt: number;
  /** `scrypt$…`; absent for a room without a password */
  passwordDigest?: string | undefined;
  /** SHA-256 of the host token in base64url; absent for a room from before there were any */
  hostTokenDigest?: string | undefined;
  /** the oldest first; absent for none */
  aliases?: readonly Alias[] | undefined;
  /** absent for none, as the next */
  bans?: readonly Ban[] | undefined;
  blocked?: readonly string[] | undefined;
  /** absent for an open room */
  closed?: true | undefined;
  /** the oldest first; absent for none */
  keys?: readonly StoredKey[] | undefined;
}

/** A key of a room. Times are epoch ms; digests are SHA-256 in base64url. */
type StoredKey = ReturnType<typeof storedKey.parse>;

/** Where rooms are kept between two lives of a hub. One hub owns a store and closes it. */
export interface RoomStore {
  /** Once, before the first save. @throws StateFileLockedError when another process has it */
  load(): Promise<StoredRoom[]>;
  /**
   * Replaces everything by `rooms`. Resolves when these, or newer ones, are safe or were given up with a warning; never
   * rejects. After {@link close} it does nothing.
   */
  save(rooms: readonly StoredRoom[]): Promise<void>;
  /** Waits for a running save. */
  close(): Promise<void>;
}

/** Of rooms that are open and have no keys. */
const formatVersion = 1;

/** Of others: a version that does not know of keys must not read them, since it would open closed rooms. */
const formatWithKeys = 2;

const digest = RoomSchema.shape.code.refine((text) => /^[\w-]{43}$/.test(text));

const storedKey = KeySchema.omit({ spentToday: true, resetAt: true }).extend({
  digest,
  /** tokens of its last day */
  spent: KeySchema.pick({})
    .extend({ day: KeySchema.shape.name, tokens: KeySchema.shape.createdAt })
    .optional(),
  previous: KeySchema.pick({}).extend({ digest, endsAt: KeySchema.shape.createdAt }).optional(),
});

const storedBan = KeySchema.pick({}).extend({
  id: RoomSchema.shape.code,
  machine: RoomSchema.shape.code.optional(),
  address: RoomSchema.shape.code.optional(),
  until: KeySchema.shape.createdAt,
});

const storedRoom = RoomSchema.pick({
  id: true,
  code: true,
  name: true,
  hostId: true,
  createdAt: true,
}).extend({
  lastUsedAt: RoomSchema.shape.createdAt,
  // A hub that cannot check one room's password could not start, and must not open the room either.
  passwordDigest: RoomSchema.shape.code
    .refine((text) => parseStoredDigest(text) !== undefined)
    .optional(),
  hostTokenDigest: digest.optional(),
  aliases: AliasSchema.array().optional(),
  bans: storedBan.array().optional(),
  blocked: RoomSchema.shape.code.array().optional(),
  closed: RoomSchema.shape.closed,
  keys: storedKey.array().optional(),
});
const storedRooms = storedRoom.array();

/** Names every field: anything else that an object carries never leaves the hub. */
function listFields(room: StoredRoom): StoredRoom {
  const { id, code, name, hostId, createdAt, lastUsedAt, passwordDigest, hostTokenDigest } = room;
  const aliases = room.aliases?.map((alias) => {
    const { pattern, targets, createdAt: addedAt } = alias;
    return { pattern, targets, createdAt: addedAt };
  });
  return {
    ...{ id, code, name, hostId, createdAt, lastUsedAt, passwordDigest },
    ...{ hostTokenDigest, aliases, closed: room.closed, keys: room.keys?.map(listKeyFields) },
    bans: room.bans?.map(({ id: banned, machine, address, until }) => {
      return { id: banned, machine, address, until };
    }),
    blocked: room.blocked,
  };
}

function listKeyFields(key: StoredKey): StoredKey {
  const { id, name, may, models, digest: own, previous, createdAt, expiresAt, revokedAt } = key;
  return {
    ...{ id, name, may, models, digest: own, createdAt, expiresAt, revokedAt },
    ...{ previous: previous && { digest: previous.digest, endsAt: previous.endsAt } },
    ...{ requestsPerMinute: key.requestsPerMinute, lastSeenDay: key.lastSeenDay },
    ...{ tokensPerDay: key.tokensPerDay, spent: key.spent },
  };
}

function hasKeys({ closed, keys }: StoredRoom): boolean {
  return closed === true || keys !== undefined;
}

/** One room, as the hubs of a cluster keep it. Older versions find no room in one with keys. */
export function encodeRoom(room: StoredRoom): string {
  const fields = listFields(room);
  return JSON.stringify(
    hasKeys(room)
      ? { version: formatWithKeys, room: fields }
      : { version: formatVersion, ...fields },
  );
}

/** @throws Error with what is wrong and where, never with the text itself */
export function decodeRoom(text: string): StoredRoom {
  const entry = jsonIn(text) as { version?: unknown; room?: unknown } | null;
  const result = storedRoom.safeParse(entry?.version === formatWithKeys ? entry.room : entry);
  if (result.success) return result.data;
  throw new Error(`${result.error.issues[0]?.path.map(String).join(".") ?? ""} is not valid`);
}

export function encodeRooms(rooms: readonly StoredRoom[]): string {
  const version = rooms.some(hasKeys) ? formatWithKeys : formatVersion;
  return `${JSON.stringify({ version, rooms: rooms.map(listFields) }, undefined, 1)}\n`;
}

/** @throws Error with what is wrong and where, never with the text itself */
export function decodeRooms(text: string): StoredRoom[] {
  const file = jsonIn(text);
  if (typeof file !== "object" || file === null) throw new Error("it is not a roomhub state file");
  const { version, rooms } = file as { version?: unknown; rooms?: unknown };
  if (version !== formatVersion && version !== formatWithKeys)
    throw new Error(`it is not of format version ${formatVersion} or ${formatWithKeys}`);
  const result = storedRooms.safeParse(rooms);
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path.map(String).join(".") ?? "";
  throw new Error(path === "" ? "it holds no list of rooms" : `rooms.${path} is not valid`);
}

function jsonIn(text: string): unknown {
  const value = parseJson(text);
  if (value === undefined) throw new Error("it is not JSON");
  return value;
}

/** A room as it begins after a restart: without participants. Its password is checked elsewhere. */
export function roomFromStored(stored: StoredRoom): Room {
  const { id, code, name, hostId, createdAt, lastUsedAt, hostTokenDigest } = stored;
  return {
    ...{ id, code, name, hostId, createdAt, lastUsedAt },
    isPasswordProtected: stored.passwordDigest !== undefined,
    hostTokenDigest:
      hostTokenDigest === undefined ? undefined : Buffer.from(hostTokenDigest, "base64url"),
    aliases: aliasesFromStored(stored),
    isClosed: stored.closed === true,
    keys: keysFromStored(stored, noKeys),
    ...shutOutFrom(stored),
    isDeleted: false,
    participants: new Map(),
    placing: newPlacing(),
  };
}

/** Gives a room what of its stored form changes, which another hub may have changed. */
export function applyStored(
  room: Room,
  stored: Pick<StoredRoom, "aliases" | "closed" | "keys" | "bans" | "blocked">,
): void {
  room.aliases = aliasesFromStored(stored);
  room.isClosed = stored.closed === true;
  room.keys = keysFromStored(stored, room.keys);
  Object.assign(room, shutOutFrom(stored));
}

/** Who may not join, or send requests. */
function shutOutFrom({
  bans = [],
  blocked,
}: Pick<StoredRoom, "bans" | "blocked">): Pick<Room, "bans" | "blocked"> {
  return { bans, blocked: new Set(blocked) };
}

/** @param passwordDigest - undefined for a room without a password */
export function storedRoomOf(room: Room, passwordDigest: string | undefined): StoredRoom {
  const { id, code, name, hostId, createdAt, lastUsedAt, hostTokenDigest, aliases } = room;
  const { isClosed, keys, bans, blocked } = room;
  return {
    ...{ id, code, name, hostId, createdAt, lastUsedAt, passwordDigest },
    hostTokenDigest:
      hostTokenDigest === undefined
        ? undefined
        : Buffer.from(hostTokenDigest).toString("base64url"),
    aliases: aliases.size === 0 ? undefined : aliases.list,
    bans: bans.length === 0 ? undefined : bans,
    blocked: blocked.size === 0 ? undefined : [...blocked],
    closed: isClosed ? true : undefined,
    keys: keys.size === 0 ? undefined : keys.list.map(storedFromKey),
  };
}

function storedFromKey({ tokenDay, ...key }: RoomKey): StoredKey {
  return {
    ...{ ...key, may: [...key.may], models: key.models && [...key.models] },
    ...{ tokensPerDay: tokenDay?.limit, spent: tokenDay?.toStore() },
  };
}

/** That is stored now. */
export function noteStored(room: Room | undefined, { keys = [] }: Pick<StoredRoom, "keys">): void {
  for (const { id, spent } of keys) {
    if (spent !== undefined) room?.keys.find(id)?.tokenDay?.take(spent);
  }
}

/** @param known - what this hub has of them, which may have been used since */
function keysFromStored({ keys = [] }: Pick<StoredRoom, "keys">, known: KeyTable): KeyTable {
  if (keys.length === 0) return noKeys;
  return new KeyTable(
    keys.map((key) => {
      const { spent, tokensPerDay, ...fields } = key;
      const { models, requestsPerMinute, previous, expiresAt, revokedAt } = key;
      const before = known.find(key.id);
      const tokenDay = before?.tokenDay ?? (tokensPerDay ? new TokenDay(tokensPerDay) : undefined);
      if (spent !== undefined) tokenDay?.take(spent);
      const days = [key.lastSeenDay, before?.lastSeenDay];
      const lastSeenDay = days
        .filter((day) => day !== undefined)
        .sort()
        .at(-1);
      return {
        ...{ ...fields, models, requestsPerMinute, tokenDay },
        ...{ previous, expiresAt, revokedAt, lastSeenDay },
      };
    }),
  );
}

function aliasesFromStored({ aliases = [] }: Pick<StoredRoom, "aliases">): AliasTable {
  return new AliasTable(withoutChains(aliases));
}

/** Keeps rooms as long as the object lives: for ephemeral hubs, and for hubs restarted inside one test. */
export function memoryRoomStore(): RoomStore {
  let kept: StoredRoom[] = [];
  let isClosed = false;
  return {
    async load() {
      isClosed = false;
      return structuredClone(kept);
    },
    async save(rooms) {
      if (!isClosed) kept = structuredClone([...rooms]);
    },
    async close() {
      isClosed = true;
    },
  };
}
