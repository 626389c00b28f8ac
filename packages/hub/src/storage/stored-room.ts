import { AliasTable } from "../domain/aliases/alias-table.ts";
import { newPlacing, type Room } from "../domain/room.ts";
import type { StoredRoom } from "./room-store.ts";

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
  return new AliasTable(aliases);
}
