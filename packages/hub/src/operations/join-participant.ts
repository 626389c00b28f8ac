import { durationInWords, type JoinRequest, type Warning, type World } from "@roomhub/protocol";
import { digestOf, mintClientKey, mintToken, type MintedToken } from "../credentials/tokens.ts";
import { banRemainingMs } from "../domain/keys/bans.ts";
import { updateLimit } from "../domain/slots.ts";
import type { Participant } from "../domain/participant.ts";
import { renewCredentials } from "../domain/readiness.ts";
import { modelChanged, type Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import { returnAfterJoin } from "./homes/returning.ts";
import type { OperationContext, Peer } from "./context.ts";
import {
  conflictWarnings,
  isLive,
  proofOf,
  type Proof,
  proofOfReturn,
  refuseLateJoin,
  requireReplaceable,
} from "./ownership.ts";
import {
  assignMachine,
  addParticipant,
  announceUpdate,
  recordLife,
  removeParticipant,
} from "./presence.ts";
import { firstProbe, pathWarnings, checkProbing } from "./direct-path.ts";
import { newParticipant, refreshCapabilities, registrationOf } from "./registration.ts";

export interface JoinOutcome {
  participant: Participant;
  room: Room;
  isNew: boolean;
  /** present exactly when one was minted */
  token: string | undefined;
  /** the same */
  clientKey: string | undefined;
  warnings: Warning[];
}

/**
 * Interface §4, `POST …/join`, and `PUT` of an unknown id. Contract §1 "Joining precisely" and §3 "Ownership".
 *
 * Waits at most a second for the first probe of a direct endpoint.
 *
 * @param onlyIfNew - it must not replace a registration, see {@link proofOfReturn}
 * @throws HubError `room_not_found`, `invalid_password`, `too_many_attempts`, `participant_id_taken`,
 * `participant_token_invalid`, `participant_id_conflicts`, `participant_limit_reached`, `invalid_endpoint`, `participant_banned`
 */
export async function joinParticipant(
  context: OperationContext,
  code: string,
  request: JoinRequest,
  peer: Peer,
  onlyIfNew: boolean,
): Promise<JoinOutcome> {
  await checkAdmission(context, code, request, peer);
  // Read again after the password check, during which the room may be dropped or the id taken.
  const room = context.registry.room(code);
  context.registrations?.requireHere(room.code);
  const existing = room.participants.get(request.id);
  const proof =
    existing === undefined
      ? undefined
      : onlyIfNew
        ? proofOfReturn(context.ownership, existing, peer, request)
        : proofOf(context.ownership, existing, peer);
  if (existing !== undefined) refuseLateJoin(existing, request);
  const conflicts = conflictWarnings(context, room, request.id, request.model);
  const joined =
    existing !== undefined && proof !== undefined
      ? rejoin(context, room, existing, request, peer, proof)
      : register(context, room, existing, request, peer);
  const { participant } = joined;
  room.lastUsedAt = context.wallMs();
  await Promise.all([
    context.registrations?.changed(participant),
    firstProbe(context, participant),
  ]);
  return { ...joined, room, warnings: [...conflicts, ...pathWarnings(participant)] };
}

/** A key, or the token of a participant in the room, replaces the room's password. */
async function checkAdmission(
  context: OperationContext,
  code: string,
  request: JoinRequest,
  peer: Peer,
): Promise<void> {
  const room = context.registry.room(code);
  const existing = room.participants.get(request.id);
  const proof = existing === undefined ? undefined : proofOf(context.ownership, existing, peer);
  if (proof === "token") return;
  refuseBanned(context, room, request, peer);
  if (peer.holder?.kind !== "key") {
    await checkRoomPassword(context, room, request.password ?? undefined, peer);
  }
}

/** Contract §9. A participant that is still in the room has its token. */
function refuseBanned(
  { wallMs }: OperationContext,
  { code, bans }: Room,
  { id, machineSecret }: JoinRequest,
  { address }: Peer,
): void {
  const machine = machineSecret === undefined ? undefined : digestOf(machineSecret).toString("hex");
  const remainingMs = banRemainingMs(bans, { id, machine, address }, wallMs());
  if (remainingMs === 0) return;
  throw new HubError(
    "participant_banned",
    `The host of room ${code} removed this participant. It may join again in ${durationInWords(remainingMs)}.`,
    { hint: "Ask the room's host, or join again then." },
  );
}

type Joined = Pick<JoinOutcome, "participant" | "isNew" | "token" | "clientKey">;

/**
 * Registers a new participant, with a new key and token.
 *
 * @param existing - an offline participant that it replaces
 */
function register(
  context: OperationContext,
  room: Room,
  existing: Participant | undefined,
  request: JoinRequest,
  peer: Peer,
): Joined {
  const { token, digest: tokenDigest } = mintToken(context.world);
  const clientKey = request.ownFirst === true ? mintClientKey(context.world) : undefined;
  const proofs = { tokenDigest, clientKeyDigest: clientKey?.digest, keyId: keyIdOf(peer) };
  // Before anything is removed, since it may throw.
  const registration = registrationOf(context, request, peer, proofs);
  checkProbing(context, room, registration);
  if (existing !== undefined) requireReplaceable(existing);
  makeSpace(context, room, existing);
  const participant = newParticipant(context, room, registration);
  participant.paths.direct = context.paths.directPathOf(participant);
  participant.paths.ownerAddress = peer.nearAddress;
  if (existing !== undefined) removeParticipant(context, existing, { tunnel: "replaced" });
  addParticipant(context, room, participant, request.authHeaders ?? {});
  return { participant, isNew: true, token: token.reveal(), clientKey: clientKey?.token.reveal() };
}

/**
 * The same participant joins again: it keeps its key, its place in join order, and with its token its `authHeaders`.
 */
function rejoin(
  context: OperationContext,
  room: Room,
  participant: Participant,
  request: JoinRequest,
  peer: Peer,
  proof: Proof,
): Joined {
  const { endpointOrigin: originBefore, baseUrl: baseUrlBefore, model: modelBefore } = participant;
  const keepsToken = proof === "token";
  const minted = keepsToken ? undefined : mintToken(context.world);
  const clientKey = renewedClientKey(context.world, participant, request, keepsToken);
  const registration = registrationOf(context, request, peer, {
    tokenDigest: minted?.digest ?? participant.tokenDigest,
    clientKeyDigest: clientKey.digest,
    keyId: keyIdOf(peer) ?? participant.keyId,
  });
  checkProbing(context, room, registration);
  Object.assign(participant, registration);
  participant.presence.returning = returnAfterJoin(participant);
  participant.paths.ownerAddress = peer.nearAddress;
  participant.presence.joinedMs = context.nowMs();
  if (participant.model !== modelBefore) modelChanged(room, participant);
  participant.paths.direct = context.paths.directPathOf(participant);
  renewCredentials(participant, context.nowMs());
  // `authHeaders` are bound to token and endpoint origin: a change of either drops them unless they are sent again.
  // Contract §3.
  const mayKeep =
    keepsToken && originBefore === participant.endpointOrigin && request.authHeaders === undefined;
  if (!mayKeep)
    context.vault.put(participant.key, participant.endpointOrigin, request.authHeaders ?? {});
  context.paths.renewed(participant, {
    credentials: true,
    model: participant.model !== modelBefore,
  });
  if (participant.liveness === "probe") context.paths.watch(participant);
  if (!keepsToken) context.paths.closeTunnel(participant, "replaced");
  refreshCapabilities(room, participant, baseUrlBefore);
  assignMachine(context, participant);
  updateLimit(participant, context.limits);
  participant.presence.lastUsedMs = context.nowMs();
  const wasOffline = participant.presence.status === "offline";
  recordLife(context, participant);
  if (!wasOffline) announceUpdate(context, participant);
  context.paths.settingsChanged(participant);
  return {
    participant,
    isNew: false,
    token: minted?.token.reveal(),
    clientKey: clientKey.token?.reveal(),
  };
}

function keyIdOf({ holder }: Peer): string | undefined {
  return holder?.kind === "key" ? holder.key.id : undefined;
}

/** A client key is valid as long as the token it was issued with. */
function renewedClientKey(
  world: World,
  { clientKeyDigest }: Participant,
  { ownFirst }: JoinRequest,
  keepsToken: boolean,
): Partial<MintedToken> {
  if (ownFirst !== true) return {};
  if (keepsToken && clientKeyDigest !== undefined) return { digest: clientKeyDigest };
  return mintClientKey(world);
}

/**
 * Contract §6: a full room evicts its longest offline participant.
 *
 * @param replaced - leaves in any case
 */
function makeSpace(context: OperationContext, room: Room, replaced: Participant | undefined): void {
  if (replaced !== undefined) return;
  const { registry, limits } = context;
  const isRoomFull = room.participants.size >= limits.participantsPerRoom;
  if (!isRoomFull && registry.participantCount < limits.participantsPerHub) return;
  const evictable = [...room.participants.values()]
    .filter((one) => !isLive(one))
    .sort((one, other) => one.presence.lastSeenMs - other.presence.lastSeenMs)[0];
  if (evictable === undefined) {
    throw new HubError(
      "participant_limit_reached",
      isRoomFull
        ? `Room ${room.code} already has ${limits.participantsPerRoom} participants.`
        : `This hub already has ${limits.participantsPerHub} participants.`,
      {
        hint: "Wait until a participant leaves; the host can raise ROOMHUB_PARTICIPANTS_PER_ROOM or ROOMHUB_PARTICIPANTS_PER_HUB.",
      },
    );
  }
  removeParticipant(context, evictable, { tunnel: "left", reason: "evicted" });
}

/**
 * Admits a peer that knows the room's password. A missing and a wrong password get the same error. Contract §6.
 *
 * @throws HubError `invalid_password`, or `too_many_attempts` after too many wrong passwords of the address or the room
 */
export async function checkRoomPassword(
  context: OperationContext,
  room: Room,
  password: string | undefined,
  peer: Peer,
): Promise<void> {
  const roomPassword = context.roomPasswords.get(room.code);
  if (roomPassword === undefined) return;
  const result = await context.passwordGate.check({
    roomCode: room.code,
    roomPassword,
    caller: peer.throttleKey,
    password,
    hasLeft: peer.hasLeft,
  });
  switch (result.kind) {
    case "right":
      return;
    case "throttled":
      throw new HubError("too_many_attempts", throttledMessage(room.code, result.by), {
        hint: "Ask the room's host for it, and try again in a moment.",
        retryAfterMs: result.retryAfterMs,
      });
    case "wrong":
      throw new HubError(
        "invalid_password",
        `The join password for room ${room.code} is missing or wrong.`,
        {
          param: "password",
          hint: `Ask the room's host, then: ROOMHUB_PASSWORD=… roomhub join ${room.code}`,
        },
      );
    case "left":
      throw new HubError(
        "client_disconnected",
        "The client disconnected before its password was checked.",
      );
  }
}

function throttledMessage(code: string, by: "caller" | "room" | "hub"): string {
  switch (by) {
    case "caller":
      return `Too many wrong join passwords for room ${code}.`;
    case "room":
      return `Too many wrong join passwords for room ${code}, from all addresses together.`;
    case "hub":
      return `The join password for room ${code} was not checked: too many others wait for theirs.`;
  }
}
