import {
  isLoopbackHost,
  isSameModel,
  type JoinRequest,
  type Warning,
  withoutLatest,
} from "@roomhub/protocol";
import { matchesToken } from "../credentials/tokens.ts";
import type { Participant, Registrant } from "../domain/participant.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext, OwnershipMode, Peer } from "./context.ts";

/** What proves that a peer may act for a participant. `open` mode requires nothing. */
export type Proof = "token" | "address" | "machine" | "open" | undefined;

/**
 * Contract §3. A wrong token is refused even from the right address. At a new home of the room it proves nothing until the
 * participant is back: the registration there may be older than the token.
 *
 * @throws HubError `participant_token_invalid`
 */
export function proofOf(mode: OwnershipMode, participant: Participant, peer: Peer): Proof {
  if (peer.token !== undefined) {
    if (matchesToken(peer.token, participant.tokenDigest)) return "token";
    if (mode !== "open" && participant.presence.returning === undefined) {
      throw new HubError(
        "participant_token_invalid",
        `The participant token sent does not belong to ${participant.id} as it is registered now.`,
        {
          hint: "Join again without it, from the participant's own machine or once it is offline.",
        },
      );
    }
  }
  if (mode === "open") return "open";
  const { address, hasOrigin, computer } = participant.registrant;
  // A page in a browser has its machine's address, and no right to the registrations of others there.
  if (peer.hasOrigin && !hasOrigin) return undefined;
  // The loopback address of another computer means that computer.
  if (computer !== undefined && address !== undefined && isLoopbackHost(address)) return undefined;
  return mode === "compat" && address !== undefined && address === peer.address
    ? "address"
    : undefined;
}

/**
 * What lets a join with `If-None-Match: *` have an existing id: it comes from the participant's agent, or from its
 * restart on the same machine. An agent that joined and has not opened its tunnel yet has not ended: both may have been
 * started at the same time. Contract §3.
 *
 * @throws HubError `participant_id_taken`, `participant_token_invalid`
 */
export function proofOfReturn(
  mode: OwnershipMode,
  existing: Participant,
  peer: Peer,
  { machineSecret, agentId }: Pick<JoinRequest, "machineSecret" | "agentId">,
): Proof {
  if (proofOf(mode, existing, peer) === "token") return "token";
  const { machineDigest } = existing;
  const { tunnel, lastContactMs } = existing.paths;
  const { status, joinedMs } = existing.presence;
  const isOwn = agentId !== undefined && agentId === existing.agentId;
  const hasEnded = tunnel.kind !== "open" && (status === "offline" || lastContactMs >= joinedMs);
  const isSameMachine = machineDigest !== undefined && matchesToken(machineSecret, machineDigest);
  if (isSameMachine && (isOwn || hasEnded)) return "machine";
  throw idTaken(existing, "Choose another id.");
}

/**
 * A join that was held up on its way must not undo the one that its agent sent after it: the agent has the token of that
 * one, and its tunnel. Contract §3.
 *
 * @throws HubError `participant_id_taken`
 */
export function refuseLateJoin(existing: Participant, { run }: JoinRequest): void {
  const last = existing.run;
  if (run === undefined || run.bootId !== last?.bootId || run.joins >= last.joins) return;
  throw new HubError(
    "participant_id_taken",
    `${existing.id} joined room ${existing.roomCode} again after this join was sent.`,
    { param: "run", hint: "Use the participantToken of its last join." },
  );
}

/**
 * Whether a request comes from the owner of a participant that serves its owner first. Contract §3.
 */
export function isOwnRequest(
  {
    ownAddress,
    clientKey,
    keyId,
  }: { ownAddress: string | undefined; clientKey: string | undefined; keyId: string | undefined },
  { paths, clientKeyDigest, keyId: joinedWith }: Participant,
): boolean {
  if (clientKeyDigest === undefined) return false;
  if (matchesToken(clientKey, clientKeyDigest)) return true;
  // In a closed room the owner is the key that joined, not an address that many people may have.
  if (keyId !== undefined) return keyId === joinedWith;
  return ownAddress !== undefined && ownAddress === paths.ownerAddress;
}

/** Where a registration came from decides what the hub may dial for it. Contract §3. */
export function registrantOf({ address, hasOrigin, throttleKey }: Peer): Registrant {
  return { address, hasOrigin, throttleKey };
}

/** @throws HubError `participant_token_required` or `participant_token_invalid` */
export function requireProof(mode: OwnershipMode, participant: Participant, peer: Peer): Proof {
  const proof = proofOf(mode, participant, peer);
  if (proof !== undefined) return proof;
  throw new HubError(
    "participant_token_required",
    `Only the owner may change ${participant.id}: send the participantToken from its join in x-participant-token.`,
    {
      hint: `It was in the response to that join. With it: roomhub leave ${participant.roomCode} ${participant.id} --token-env VARIABLE`,
    },
  );
}

/** The room's host token, or the operator's secret. Contract §3, "Host token", and §9. */
export function isHost({ hostTokenDigest }: Room, peer: Peer): boolean {
  if (peer.isOperator) return true;
  return hostTokenDigest !== undefined && matchesToken(peer.hostToken, hostTokenDigest);
}

/**
 * The host, or in an open room a request that comes from the hub's own machine.
 *
 * @throws HubError `host_token_required`
 */
export function requireHost(room: Room, peer: Peer): void {
  if (isHost(room, peer)) return;
  const isLoopback = peer.nearAddress?.startsWith("127.") === true;
  if (isLoopback && !peer.hasOrigin && !room.isClosed) return;
  throw hostRequired(
    room,
    "It was in the response to the room's creation; roomhub stores it. Or use the hub's own machine.",
  );
}

export function hostRequired({ code }: Room, hint: string): HubError {
  const message = `Only the host may change room ${code}: send the hostToken from its creation in x-host-token.`;
  return new HubError("host_token_required", message, { hint });
}

/**
 * Contract §3: the id of a live participant may not be taken without proof. An endpoint that responded once is not a
 * sign of life: it is not probed again while its participant is silent.
 */
export function isLive(participant: Participant): boolean {
  return participant.presence.status === "online" || participant.paths.tunnel.kind === "open";
}

/**
 * Without proof, an id can be taken only from a participant that is not live.
 *
 * @throws HubError `participant_id_taken`
 */
export function requireReplaceable(existing: Participant): void {
  if (isLive(existing)) throw idTaken(existing, "Choose another id, or wait until it is offline.");
}

function idTaken({ roomCode, id }: Participant, hint: string): HubError {
  return new HubError(
    "participant_id_taken",
    `Another participant has joined room ${roomCode} as ${id}.`,
    { param: "id", hint },
  );
}

/**
 * An id that equals another participant's model captures its requests: a warning, in `strict` mode an error. Contract
 * §3. Compared like selectors, so that a `:latest` tag makes no difference.
 *
 * @throws HubError `participant_id_conflicts`
 */
export function conflictWarnings(
  context: OperationContext,
  room: Room,
  id: string,
  model: string,
): Warning[] {
  const other = namesake(room, id, model);
  if (other === undefined) return [];
  const message = isSameModel(other.model, id)
    ? `The id ${id} is also the model of ${other.id}: requests for ${id} will come here.`
    : `The model ${model} is also the id of ${other.id}: requests for ${other.id} go there.`;
  if (context.ownership === "strict") {
    throw new HubError("participant_id_conflicts", message, {
      param: "id",
      hint: "Choose another id.",
    });
  }
  return [{ code: "participant_id_conflicts", message }];
}

/** Looks at every participant of the room, at every join: nothing is copied. */
function namesake({ participants }: Room, id: string, model: string): Participant | undefined {
  const [bareId, bareModel] = [withoutLatest(id), withoutLatest(model)];
  for (const one of participants.values()) {
    if (one.id === id) continue;
    if (withoutLatest(one.model) === bareId || withoutLatest(one.id) === bareModel) return one;
  }
  return undefined;
}
