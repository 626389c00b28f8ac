import { digestOf, isSameDigest } from "../credentials/tokens.ts";
import {
  Access,
  type Holder,
  keyRefusal,
  mayDo,
  type Need,
  permitsOfKey,
} from "../domain/keys/access.ts";
import type { Permits } from "../domain/needs/demand.ts";
import { type KeyVerdict, noteUse } from "../domain/keys/key-table.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext, Peer } from "./context.ts";
import { hostRequired, isHost } from "./ownership.ts";

/** What a request is judged by: nothing of it but its head. */
export interface AccessRequest {
  need: Need;
  /** the participant that the path names */
  participantId: string | undefined;
  peer: Peer;
}

/**
 * The gate of rooms: who may do what in a closed one, and who is the host of any. Contract §9.
 *
 * @throws HubError `invalid_api_key`, `key_revoked`, `key_expired`, `not_allowed`, `host_token_required`,
 *   `too_many_attempts`
 */
export function requireAccess(
  context: OperationContext,
  room: Room,
  { need, participantId, peer }: AccessRequest,
): Access {
  if (!room.isClosed) {
    if (need === "host" && !isHost(room, peer)) throw hostRequired(room, operatorHint);
    return new Access(room, undefined);
  }
  const holders = holdersOf(context, room, peer);
  const holder = holders.find((one) => mayDo(need, one));
  if (holder !== undefined) {
    if (holder.kind === "key") noteUse(holder.key, context.wallMs());
    return new Access(room, holder);
  }
  if (holders.length > 0) throw notAllowed(room, need);
  const isNew = participantId === undefined || !room.participants.has(participantId);
  if (need === "join" && isNew && room.isPasswordProtected) return new Access(room, undefined);
  throw refused(context, room, "unknown", peer);
}

/** What the key of a request permits, or of a list. */
export function permitsOf({ holder }: Partial<Pick<Peer, "holder">>): Permits {
  return permitsOfKey(holder?.kind === "key" ? holder.key : undefined);
}

/** Access to a room that is open now. */
export function openAccess(room: Room): Access {
  return new Access(room, undefined);
}

/** Whether a list that has rooms of all kinds may show this one. */
export function maySee(context: OperationContext, room: Room, peer: Peer): boolean {
  if (!room.isClosed) return true;
  if (isHost(room, peer)) return true;
  return peer.keys.length === 1 && verdictOf(context, room, peer).verdict.kind === "valid";
}

/**
 * Everything that the peer has proven. A value that looks like a key is never passed over.
 *
 * @throws HubError when that is not valid here
 */
function holdersOf(context: OperationContext, room: Room, peer: Peer): Holder[] {
  const holders: Holder[] = [];
  if (peer.keys.length > 0) {
    const { verdict, digest } = verdictOf(context, room, peer);
    if (verdict.kind !== "valid") throw refused(context, room, verdict.kind, peer);
    holders.push({ kind: "key", key: verdict.key, digest });
  }
  if (isHost(room, peer)) holders.push({ kind: "host" });
  if (peer.token !== undefined && hasParticipant(room, peer.token)) {
    holders.push({ kind: "participant" });
  }
  return holders;
}

/** Two different keys in one request are none. */
function verdictOf(
  { wallMs }: OperationContext,
  room: Room,
  { keys }: Peer,
): { verdict: KeyVerdict; digest: string } {
  const [value, other] = keys;
  if (value === undefined || other !== undefined)
    return { verdict: { kind: "unknown" }, digest: "" };
  const digest = digestOf(value).toString("base64url");
  return { verdict: room.keys.judge(digest, wallMs()), digest };
}

/** Whether it is the token of a participant in the room. */
function hasParticipant(room: Room, token: string): boolean {
  const digest = digestOf(token);
  for (const { tokenDigest } of room.participants.values()) {
    if (isSameDigest(digest, tokenDigest)) return true;
  }
  return false;
}

/** Counted after the lookup, so that no holder of a key is locked out by its neighbours' failures. */
function refused(
  { keyFailures, nowMs }: OperationContext,
  room: Room,
  why: "unknown" | "revoked" | "expired",
  { throttleKey }: Peer,
): HubError {
  const now = nowMs();
  if (!keyFailures.isAllowed(throttleKey, now)) {
    return new HubError(
      "too_many_attempts",
      "Too many requests without a valid key came from this address.",
      {
        hint: "Ask the room's host for a key.",
        retryAfterMs: keyFailures.retryAfterMs(throttleKey, now),
      },
    );
  }
  keyFailures.record(throttleKey, now);
  return keyRefusal(room, why);
}

function notAllowed(room: Room, need: Need): HubError {
  const { what, hint } = lacks[need];
  return new HubError("not_allowed", `This key may not ${what} room ${room.code}.`, { hint });
}

const operatorHint =
  "It was in the response to the room's creation; roomhub stores it. The operator of the hub sends its secret in x-roomhub-admin.";
const byHost = "The host does that, with the host token in x-host-token.";
const toShare = "Ask the host for a key with the right share.";
const lacks: Record<Need, { what: string; hint: string }> = {
  none: { what: "enter", hint: byHost },
  infer: { what: "send requests in", hint: "Ask the host for a key with the right use." },
  use: { what: "use the models of", hint: "Ask the host for a key with the right use." },
  watch: { what: "watch", hint: "Ask the host for a key with the right watch." },
  share: { what: "share models in", hint: toShare },
  join: { what: "share models in", hint: toShare },
  any: { what: "enter", hint: "Ask the host for a key with more rights." },
  change: { what: "change", hint: byHost },
  host: { what: "administer", hint: byHost },
};
