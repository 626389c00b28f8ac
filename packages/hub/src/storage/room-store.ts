import { Alias as AliasSchema, Room as RoomSchema } from "@roomhub/protocol";
import { type Alias, AliasTable, withoutChains } from "../domain/aliases/alias-table.ts";
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
}

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

const formatVersion = 1;

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
  hostTokenDigest: RoomSchema.shape.code.refine((text) => /^[\w-]{43}$/.test(text)).optional(),
  aliases: AliasSchema.array().optional(),
});
const storedRooms = storedRoom.array();

/** By an explicit list of fields: whatever else an object carries never leaves the hub. */
function listFields(room: StoredRoom): StoredRoom {
  const { id, code, name, hostId, createdAt, lastUsedAt, passwordDigest, hostTokenDigest } = room;
  const aliases = room.aliases?.map((alias) => {
    const { pattern, targets, createdAt: addedAt } = alias;
    return { pattern, targets, createdAt: addedAt };
  });
  return {
    ...{ id, code, name, hostId, createdAt, lastUsedAt, passwordDigest },
    ...{ hostTokenDigest, aliases },
  };
}

/** One room, as the hubs of a cluster keep it. */
export function encodeRoom(room: StoredRoom): string {
  return JSON.stringify({ version: formatVersion, ...listFields(room) });
}

/** @throws Error with what is wrong and where, never with the text itself */
export function decodeRoom(text: string): StoredRoom {
  const fields = parseJson(text);
  const result = storedRoom.safeParse(fields);
  if (result.success) return result.data;
  throw new Error(`${result.error.issues[0]?.path.map(String).join(".") ?? ""} is not valid`);
}

export function encodeRooms(rooms: readonly StoredRoom[]): string {
  const listed = rooms.map(listFields);
  return `${JSON.stringify({ version: formatVersion, rooms: listed }, undefined, 1)}\n`;
}

/** @throws Error with what is wrong and where, never with the text itself */
export function decodeRooms(text: string): StoredRoom[] {
  const file = parseJson(text);
  if (typeof file !== "object" || file === null) throw new Error("it is not a roomhub state file");
  const { version, rooms } = file as { version?: unknown; rooms?: unknown };
  if (version !== formatVersion) throw new Error(`it is not of format version ${formatVersion}`);
  const result = storedRooms.safeParse(rooms);
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path.map(String).join(".") ?? "";
  throw new Error(path === "" ? "it holds no list of rooms" : `rooms.${path} is not valid`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // V8's message would repeat a piece of the file.
    throw new Error("it is not JSON");
  }
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
    participants: new Map(),
    placing: newPlacing(),
  };
}

/** Gives a room the aliases of its stored form, which another hub may have changed. */
export function applyStoredAliases(room: Room, stored: Pick<StoredRoom, "aliases">): void {
  room.aliases = aliasesFromStored(stored);
}

/** @param passwordDigest - undefined for a room without a password */
export function storedRoomOf(room: Room, passwordDigest: string | undefined): StoredRoom {
  const { id, code, name, hostId, createdAt, lastUsedAt, hostTokenDigest, aliases } = room;
  return {
    ...{ id, code, name, hostId, createdAt, lastUsedAt, passwordDigest },
    hostTokenDigest:
      hostTokenDigest === undefined
        ? undefined
        : Buffer.from(hostTokenDigest).toString("base64url"),
    aliases: aliases.size === 0 ? undefined : aliases.list,
  };
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
