import type {
  AnthropicModel,
  AnthropicModelList,
  ErrorShape,
  HeartbeatResponse,
  ModelEntry,
  ModelList,
  ParticipantSummary,
} from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import { readinessOf } from "../domain/readiness.ts";
import { readModelField, selectTarget } from "../domain/aliases/model-field.ts";
import {
  anthropicModel,
  anthropicModels,
  modelView,
  modelViews,
  participantView,
} from "../domain/views.ts";
import type { Room } from "../domain/room.ts";
import { plainQuery, standInsLast } from "../domain/selection-query.ts";
import { matchesToken } from "../credentials/tokens.ts";
import { HubError } from "../errors.ts";
import { permittedIn } from "../domain/selector.ts";
import { isPermitted, noDemand, type Permits } from "../domain/needs/demand.ts";
import { permitsOf } from "./access.ts";
import type { OperationContext, Peer } from "./context.ts";
import { isLive, proofOf, requireProof } from "./ownership.ts";
import { endReturn, requireBack, requireComplete } from "./homes/returning.ts";
import { recordLife, removeParticipant } from "./presence.ts";
import { isUnused } from "./direct-path.ts";

/** A heartbeat probes a direct endpoint again when the last contact is this old, or failed. Contract §3. */
const reprobeAfterMs = 60_000;

/** Interface §4, `GET …/participants`: in join order, stand-ins as in every list, offline participants included. */
export function listParticipants(
  { registry, nowMs }: OperationContext,
  code: string,
): ParticipantSummary[] {
  const now = nowMs();
  const room = registry.room(code);
  const participants = standInsLast(room, [...room.participants.values()], now);
  return participants.map((one) => participantView(one, now));
}

/** The same as JSON, for rooms of thousands. */
export function listParticipantsAsJson(
  context: OperationContext,
  code: string,
  peer: Peer,
): Buffer {
  const { registry, nowMs, participantRows } = context;
  const now = nowMs();
  const room = registry.room(code);
  return participantRows.listOf(standInsLast(room, permittedIn(room, permitsOf(peer)), now), now);
}

/** The public view of a participant now. */
export function viewOf({ nowMs }: OperationContext, participant: Participant): ParticipantSummary {
  return participantView(participant, nowMs());
}

/** @throws HubError `participant_not_found`, `not_allowed` when the key of the peer is for other models */
export function getParticipant(
  { registry, nowMs }: OperationContext,
  code: string,
  id: string,
  peer: Partial<Pick<Peer, "holder">> = {},
): ParticipantSummary {
  const room = registry.room(code);
  const participant = registry.participant(room, id);
  if (!isPermitted(participant, permitsOf(peer))) {
    throw new HubError("not_allowed", `This key is for other models than that of ${id}.`, {
      hint: `List what it permits: roomhub models ${room.code}`,
    });
  }
  return participantView(participant, nowMs());
}

/** Interface §3: `POST …/health`. It changes nothing, so it needs no proof; a wrong token is refused. Contract §3. */
export function recordHeartbeat(
  context: OperationContext,
  code: string,
  id: string,
  peer: Peer,
): HeartbeatResponse {
  const participant = context.registry.participant(context.registry.room(code), id);
  const proof = proofOf(context.ownership, participant, peer);
  if (proof !== "token" && peer.token !== undefined) requireBack(participant);
  requireComplete(participant);
  participant.presence.lastUsedMs = context.nowMs();
  endReturn(context, participant);
  recordLife(context, participant);
  reprobe(context, participant);
  return {
    success: true,
    status: participant.presence.status,
    lastSeen: participant.presence.lastSeenAt,
  };
}

function reprobe(context: OperationContext, participant: Participant): void {
  if (participant.paths.tunnel.kind !== "closed" || participant.paths.direct.kind === "refused")
    return;
  const isStale = context.nowMs() - participant.paths.lastContactMs > reprobeAfterMs;
  // Never rejects; the result is an event.
  if (
    isStale ||
    participant.paths.direct.kind !== "answered" ||
    readinessOf(participant) !== "ready"
  )
    void context.paths.probe(participant);
}

/** Interface §4, `DELETE …/leave/:id`. */
export async function leaveParticipant(
  context: OperationContext,
  code: string,
  id: string,
  peer: Peer,
): Promise<void> {
  const participant = context.registry.participant(context.registry.room(code), id);
  requireProof(context.ownership, participant, peer);
  removeParticipant(context, participant, { tunnel: "left" });
  await context.registrations?.changed(participant);
}

/** Interface §2: all that are online. In Anthropic's shape with the room's aliases, contract §4, "Models list". */
export function listModels(
  { registry, nowMs }: OperationContext,
  code: string,
  shape: ErrorShape,
  peer: Partial<Pick<Peer, "holder">> = {},
): ModelList | AnthropicModelList {
  const room = registry.room(code);
  const permits = permitsOf(peer);
  return shape === "anthropic"
    ? anthropicModels(room, nowMs(), permits)
    : { object: "list", data: modelViews(room, nowMs(), permits) };
}

/** `GET …/models/:id`: an id or any selector form; shows the participant that would get a request now. Contract §4. */
export function getModel(
  context: OperationContext,
  code: string,
  name: string,
  shape: ErrorShape,
  peer: Partial<Pick<Peer, "holder">> = {},
): ModelEntry | AnthropicModel {
  const serving = servingNow(context, context.registry.room(code), name, permitsOf(peer));
  return shape === "anthropic" ? anthropicModel(serving) : modelView(serving, context.nowMs());
}

function servingNow(
  { nowMs }: OperationContext,
  room: Room,
  name: string,
  permits: Permits,
): Participant {
  const { selection } = selectTarget(room, readModelField(room, name), 0, (target) =>
    plainQuery(target, "", nowMs, undefined, { ...noDemand, ...permits }),
  );
  if (selection.kind === "selected") return selection.participant;
  if (selection.kind === "busy" && selection.candidates[0] !== undefined)
    return selection.candidates[0];
  if (selection.kind === "refused") {
    throw new HubError(selection.code, selection.message, {
      hint: selection.hint,
      param: "model",
      participants: selection.refusals,
      retryAfterMs: selection.retryAfterMs,
    });
  }
  throw new HubError(
    "model_not_found",
    `No participant serves ${JSON.stringify(name.slice(0, 100))}.`,
  );
}

/**
 * Whether a peer may open this participant's tunnel: with its token always, without it never. Contract §3.
 *
 * @param holder - the participant of the session that is resumed: the room may have another home now
 * @throws HubError `participant_not_found`, `participant_token_required`, `participant_token_invalid`
 */
export function authorizeTunnel(
  { registry }: OperationContext,
  code: string,
  id: string,
  peer: Peer,
  holder: Participant | undefined,
): Participant {
  const room = registry.room(code);
  const isHolders = holder?.id === id && holder.roomCode === room.code;
  const participant = isHolders ? holder : registry.participant(room, id);
  if (peer.hasOrigin) {
    throw new HubError(
      "origin_not_allowed",
      "A tunnel cannot be opened by a web page (Origin header).",
      { hint: "Run an agent on the machine: roomhub join" },
    );
  }
  if (peer.token === undefined) {
    throw new HubError(
      "participant_token_required",
      "A tunnel needs the participantToken of the join, as Bearer.",
      { hint: "It was in the response to the join; roomhub join stores it." },
    );
  }
  if (!matchesToken(peer.token, participant.tokenDigest)) {
    requireBack(participant);
    throw new HubError(
      "participant_token_invalid",
      `The token does not belong to ${id} as it is registered now.`,
      { hint: "Join again: the id was registered anew." },
    );
  }
  requireComplete(participant);
  // A resumed session may come through another hub, whose address means nothing.
  if (holder === undefined) participant.paths.ownerAddress = peer.nearAddress;
  return participant;
}

/** Contract §1 and §2: an offline, disconnected participant is removed after 24 h, and a probed one without any use. */
export function expireParticipants(context: OperationContext): void {
  const oldestMs = context.nowMs() - context.limits.participantExpiryMs;
  const expired = [...context.registry.participants()].filter(
    (one) => (!isLive(one) && one.presence.lastSeenMs < oldestMs) || isUnused(context, one),
  );
  for (const participant of expired) {
    removeParticipant(context, participant, { tunnel: "left", reason: "expired" });
  }
}
