import { roomView } from "../domain/views.ts";
import type { StoredRoom } from "../storage/room-store.ts";
import { applyStoredAliases, roomFromStored } from "../storage/stored-room.ts";
import type { OperationContext } from "./context.ts";

/**
 * A room of the cluster, as another hub made or changed it. Contract §8.
 *
 * @param isNew - it is announced: it was made while this hub was there
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
    applyStoredAliases(known, stored);
    return;
  }
  // Being created here: its own operation adds it.
  if (registry.hasCode(code)) return;
  const room = roomFromStored(stored);
  if (passwordDigest !== undefined) {
    roomPasswords.set(code, passwordKeeper.fromStored(passwordDigest));
  }
  registry.addRoom(room);
  if (isNew) emit.roomCreated(roomView(room));
}

/** Another hub dropped a room. */
export function forgetSharedRoom(
  { registry, roomPasswords, roomDropped }: OperationContext,
  code: string,
): void {
  const room = registry.findRoom(code);
  if (room === undefined) return;
  registry.removeRoom(room);
  roomPasswords.delete(code);
  roomDropped(code);
}
