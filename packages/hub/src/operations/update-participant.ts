import {
  checkEndpoint,
  type ParticipantConfig,
  type UpdateParticipantRequest,
  type Warning,
} from "@roomhub/protocol";
import type { Participant } from "../domain/participant.ts";
import { renewCredentials } from "../domain/readiness.ts";
import type { Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext, Peer } from "./context.ts";
import { conflictWarnings, refreshCapabilities } from "./join-participant.ts";
import { requireProof } from "./ownership.ts";
import { pathWarnings } from "./path-warnings.ts";
import { announceUpdate } from "./presence.ts";

/** Whether `PUT` of this id means a change rather than a join. Contract §1. */
export function isKnownParticipant(
  { registry }: OperationContext,
  code: string,
  id: string,
): boolean {
  return registry.room(code).participants.has(id);
}

/**
 * Interface §4, `PUT` of an existing id: any subset of fields, `null` clears. Mints nothing and leaves an open tunnel
 * alone. Contract §1.
 *
 * @throws HubError `participant_not_found`, `participant_token_required`, `participant_token_invalid`
 */
export async function updateParticipant(
  context: OperationContext,
  code: string,
  id: string,
  request: UpdateParticipantRequest,
  peer: Peer,
): Promise<{ participant: Participant; room: Room; warnings: Warning[] }> {
  const room = context.registry.room(code);
  const participant = context.registry.participant(room, id);
  requireProof(context.ownership, participant, peer);
  const conflicts = conflictWarnings(context, room, id, request.model ?? participant.model);
  const baseUrlBefore = participant.baseUrl;
  // First, since it may refuse: a refused change changes nothing.
  applyEndpoint(context, participant, request, peer);
  const kept = applyNames(participant, request);
  refreshCapabilities(participant, baseUrlBefore);
  if (request.config !== undefined) {
    participant.limit = participant.config.maxConcurrency ?? context.limits.inFlightPerParticipant;
  }
  room.lastUsedAt = context.wallMs();
  announceUpdate(context, participant);
  context.paths.settingsChanged(participant);
  if (participant.direct.kind === "untried" && participant.tunnel.kind === "closed") {
    await context.paths.probe(participant);
  }
  return { participant, room, warnings: [...conflicts, ...kept, ...pathWarnings(participant)] };
}

/** @returns warnings of what stays as it was */
function applyNames(participant: Participant, request: UpdateParticipantRequest): Warning[] {
  if (request.nickname !== undefined) participant.nickname = request.nickname;
  if (request.model !== undefined) participant.model = request.model;
  if (request.specs !== undefined) participant.specs = request.specs ?? {};
  if (request.capabilities !== undefined)
    participant.declaredCapabilities = request.capabilities ?? {};
  return request.config === undefined ? [] : applyConfig(participant, request.config ?? {});
}

/** An agent serves `/responses` as it was started, whatever is changed here. */
function applyConfig(participant: Participant, config: ParticipantConfig): Warning[] {
  const { id, roomCode, isTunnelOnly, tunnel } = participant;
  const before = participant.config.responses;
  participant.config = config;
  if (!isTunnelOnly && tunnel.kind === "closed") return [];
  const { responses: wanted, ...others } = config;
  participant.config = before === undefined ? others : { ...others, responses: before };
  if (wanted === undefined || wanted === before) return [];
  const message = `config.responses of ${id} stays as its agent was started. Start it again: roomhub join ${roomCode} --responses ${wanted}`;
  return [{ code: "responses_not_changed", message }];
}

function applyEndpoint(
  context: OperationContext,
  participant: Participant,
  request: UpdateParticipantRequest,
  peer: Peer,
): void {
  const originBefore = participant.endpointOrigin;
  const isTunnelOnlyBefore = participant.isTunnelOnly;
  if (request.endpoint !== undefined) {
    const endpoint = checkEndpoint(request.endpoint, context.limits.endpointLength);
    if (!endpoint.ok)
      throw new HubError("invalid_endpoint", `endpoint ${endpoint.reason}.`, { param: "endpoint" });
    participant.endpoint = request.endpoint;
    participant.baseUrl = endpoint.baseUrl;
    participant.endpointOrigin = endpoint.origin;
    // Where it may be dialled follows from who said so last.
    participant.registrant = { address: peer.address, hasOrigin: peer.hasOrigin };
  }
  if (request.transport !== undefined) participant.isTunnelOnly = request.transport === "tunnel";
  const hasMoved =
    request.endpoint !== undefined || participant.isTunnelOnly !== isTunnelOnlyBefore;
  if (hasMoved) participant.direct = context.paths.directPathOf(participant);
  const isSameOrigin = participant.endpointOrigin === originBefore;
  if (request.authHeaders !== undefined || request.endpoint !== undefined) {
    renewCredentials(participant, context.nowMs());
  }
  if (request.authHeaders !== undefined || !isSameOrigin) {
    context.vault.put(participant.key, participant.endpointOrigin, request.authHeaders ?? {});
  }
}
