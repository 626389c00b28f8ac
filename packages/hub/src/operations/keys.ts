import {
  type CreateKeyRequest,
  type Key,
  type NewKey,
  type Room as RoomView,
  USUAL_RIGHTS,
  type Warning,
} from "@roomhub/protocol";
import { type MintedToken, mintKey } from "../credentials/tokens.ts";
import { type KeyTable, keyView, type RoomKey } from "../domain/keys/key-table.ts";
import { TokenDay } from "../domain/keys/token-day.ts";
import type { Room } from "../domain/room.ts";
import { roomView } from "../domain/views.ts";
import { HubError } from "../errors.ts";
import { changeRoom } from "./change-room.ts";
import type { OperationContext } from "./context.ts";
import { removeParticipant } from "./presence.ts";

/** A key that is not in a room yet. */
export function newKey(
  { world, wallMs }: Pick<OperationContext, "world" | "wallMs">,
  { name, may, models, requestsPerMinute, tokensPerDay, expiresInMs }: CreateKeyRequest,
): { key: RoomKey; value: string } {
  const { token, digest } = mintKey(world);
  const createdAt = wallMs();
  const key: RoomKey = {
    ...{ id: world.randomUUID(), name, may: [...new Set(may ?? USUAL_RIGHTS)], createdAt },
    models: models ? [...new Set(models)] : undefined,
    requestsPerMinute: requestsPerMinute ?? undefined,
    tokenDay: tokensPerDay ? new TokenDay(tokensPerDay) : undefined,
    digest: textOf(digest),
    previous: undefined,
    expiresAt: expiresInMs ? createdAt + expiresInMs : undefined,
    revokedAt: undefined,
    lastSeenDay: undefined,
  };
  return { key, value: token.reveal() };
}

/** A key with its value, for the one response that has it. */
export function withValue({ key, value }: { key: RoomKey; value: string }, nowMs: number): NewKey {
  return { ...keyView(key, nowMs), value };
}

/** `GET …/keys`: the oldest first. Contract §9. @throws HubError `room_not_found` */
export function listKeys({ registry, wallMs }: OperationContext, code: string): Key[] {
  const nowMs = wallMs();
  return registry
    .room(code)
    .keys.remembered(nowMs)
    .list.map((key) => keyView(key, nowMs));
}

/**
 * `POST …/keys`. The key is on disk when this resolves.
 *
 * @throws HubError `room_not_found`, `key_name_taken`, `too_many_keys`, `cluster_unavailable`
 */
export async function createKey(
  context: OperationContext,
  code: string,
  wanted: CreateKeyRequest,
): Promise<NewKey> {
  const created = newKey(context, wanted);
  const { name } = wanted;
  return changeKeys(context, code, (room, keys) => {
    const same = keys.find(name);
    if (same !== undefined) throw nameTaken(room, same);
    const { keysPerRoom } = context.limits;
    if (keys.size >= keysPerRoom) {
      throw new HubError("too_many_keys", `Room ${room.code} already has ${keysPerRoom} keys.`, {
        hint: "Keys that ended count for 30 days. The operator can raise ROOMHUB_KEYS_PER_ROOM.",
      });
    }
    return { keys: keys.with(created.key), result: withValue(created, context.wallMs()) };
  });
}

/**
 * `DELETE …/keys/:key`. That it is revoked is on disk when this resolves.
 *
 * @param idOrName - of a key; revoking it again changes nothing
 * @throws HubError `room_not_found`, `key_not_found`, `cluster_unavailable`
 */
export async function revokeKey(
  context: OperationContext,
  code: string,
  idOrName: string,
): Promise<Key> {
  return changeKeys(context, code, (room, keys) => {
    const key = keyIn(room, keys, idOrName);
    const revoked = { ...key, revokedAt: key.revokedAt ?? context.wallMs() };
    return { keys: keys.with(revoked), result: keyView(revoked, context.wallMs()) };
  });
}

/**
 * `POST …/keys/:key/rotate`: another value for the same holder, which is on disk when this resolves.
 *
 * @param graceMs - how long the value before is still valid
 * @throws HubError `room_not_found`, `key_not_found`, `cluster_unavailable`
 */
export async function rotateKey(
  context: OperationContext,
  code: string,
  idOrName: string,
  graceMs: number,
): Promise<NewKey> {
  const minted = mintKey(context.world);
  return changeKeys(context, code, (room, keys) => {
    const key = keyIn(room, keys, idOrName);
    if (key.revokedAt !== undefined) {
      throw new HubError("key_not_found", `The key ${key.name} of room ${room.code} was revoked.`, {
        hint: "Create another one, under another name.",
      });
    }
    const nowMs = context.wallMs();
    const previous = { digest: key.digest, endsAt: nowMs + graceMs };
    const rotated = { ...key, digest: textOf(minted.digest), previous };
    const result = withValue({ key: rotated, value: minted.token.reveal() }, nowMs);
    return { keys: keys.with(rotated), result };
  });
}

/** `POST …/close`. @throws HubError `room_not_found`, `cluster_unavailable` */
export async function closeRoom(context: OperationContext, code: string): Promise<RoomView> {
  const room = await setClosed(context, code, true);
  return roomView(room);
}

/** `POST …/open`: the keys stay, for when it is closed again. @throws HubError `room_not_found`, `cluster_unavailable` */
export async function openRoom(
  context: OperationContext,
  code: string,
): Promise<{ room: RoomView; warnings: Warning[] }> {
  const room = await setClosed(context, code, false);
  const message = `Room ${room.code} is open: nothing in it needs a key, and what its keys restrict no longer holds.`;
  const hasKeys = room.keys.hasLive(context.wallMs());
  return { room: roomView(room), warnings: hasKeys ? [{ code: "keys_unused", message }] : [] };
}

/** Stores what keys have spent of their daily tokens, where that is not stored yet: a crash loses no more. Contract §9. */
export async function storeSpent({ registry, changes, rooms }: OperationContext): Promise<void> {
  const unstored = [...registry.rooms()].filter(({ keys }) =>
    keys.list.some(({ tokenDay }) => tokenDay?.isStored === false),
  );
  // One that fails is tried again the next time.
  await Promise.allSettled(
    unstored.map((room) => changes.run(room.code, async () => rooms.keep(room))),
  );
}

/** Removes the participants that joined a closed room with a key that is no longer valid: their tokens end with it. */
export function endWithKeys(context: OperationContext): void {
  const nowMs = context.wallMs();
  for (const room of context.registry.rooms()) {
    if (!room.isClosed) continue;
    for (const participant of [...room.participants.values()]) {
      const { keyId } = participant;
      if (keyId === undefined || room.keys.isLive(keyId, nowMs)) continue;
      removeParticipant(context, participant, { tunnel: "left", reason: "key_ended" });
    }
  }
}

function setClosed(context: OperationContext, code: string, isClosed: boolean): Promise<Room> {
  const change = (room: Room) => ({ changed: { isClosed }, result: room });
  return changeRoom(context, code, change);
}

function changeKeys<Result>(
  context: OperationContext,
  code: string,
  change: (room: Room, keys: KeyTable) => { keys: KeyTable; result: Result },
): Promise<Result> {
  return changeRoom(
    context,
    code,
    (room) => {
      const { keys, result } = change(room, room.keys.remembered(context.wallMs()));
      return { changed: { keys }, result };
    },
    "List its keys, and try again.",
  );
}

function keyIn(room: Room, keys: KeyTable, idOrName: string): RoomKey {
  const key = keys.find(idOrName);
  if (key !== undefined) return key;
  const shown = JSON.stringify(idOrName.slice(0, 100));
  throw new HubError("key_not_found", `Room ${room.code} has no key ${shown}.`, {
    hint: `List them: GET /rooms/${room.code}/keys`,
  });
}

function nameTaken(room: Room, { name, revokedAt }: RoomKey): HubError {
  const hint =
    revokedAt === undefined
      ? "Choose another name, or revoke or rotate that key."
      : "Choose another name: one that ended is free again after 30 days.";
  const message = `Room ${room.code} has a key with the name ${name}.`;
  return new HubError("key_name_taken", message, { param: "name", hint });
}

function textOf(digest: MintedToken["digest"]): string {
  return Buffer.from(digest).toString("base64url");
}
