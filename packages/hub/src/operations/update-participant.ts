import type { ParticipantConfig, UpdateParticipantRequest, Warning } from "@roomhub/protocol";
import { updateLimit } from "../domain/slots.ts";
import type { Participant, Registration } from "../domain/participant.ts";
import { readinessOf, renewCredentials } from "../domain/readiness.ts";
import { bringBack } from "./homes/returning.ts";
import { modelChanged, type Room } from "../domain/room.ts";
import type { OperationContext, Peer } from "./context.ts";
import { conflictWarnings, registrantOf, requireProof } from "./ownership.ts";
import { assignMachine, announceUpdate } from "./presence.ts";
import { firstProbe, pathWarnings, checkProbing } from "./direct-path.ts";
import { checkedEndpoint, refreshCapabilities } from "./registration.ts";

/** Whether `PUT` of this id is a change rather than a join. Contract §1. */
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
  const { baseUrl: baseUrlBefore, model: modelBefore } = participant;
  // First, since it may throw: a refused change changes nothing.
  const place = placeOf(context, room, participant, request, peer);
  const kept = applyNames(participant, request);
  if (participant.model !== modelBefore) modelChanged(room, participant);
  applyPlace(context, participant, request, place, modelBefore);
  refreshCapabilities(room, participant, baseUrlBefore);
  assignMachine(context, participant);
  updateLimit(participant, context.limits);
  room.lastUsedAt = context.wallMs();
  announceUpdate(context, participant);
  context.paths.settingsChanged(participant);
  await Promise.all([
    context.registrations?.changed(participant),
    firstProbe(context, participant),
  ]);
  return { participant, room, warnings: [...conflicts, ...kept, ...pathWarnings(participant)] };
}

/** @returns warnings about what stays unchanged */
function applyNames(participant: Participant, request: UpdateParticipantRequest): Warning[] {
  if (request.nickname !== undefined) participant.nickname = request.nickname;
  if (request.model !== undefined) participant.model = request.model;
  if (request.specs !== undefined) participant.specs = request.specs ?? {};
  if (request.capabilities !== undefined)
    participant.declaredCapabilities = request.capabilities ?? {};
  if (request.context !== undefined) participant.declaredContext = request.context ?? undefined;
  return request.config === undefined ? [] : applyConfig(participant, request.config ?? {});
}

/** An agent serves `/responses` and `/messages` as it was started, whatever the request changes. */
function applyConfig(participant: Participant, config: ParticipantConfig): Warning[] {
  const { id, roomCode, isTunnelOnly } = participant;
  const { tunnel } = participant.paths;
  const before = participant.config;
  participant.config = config;
  if (!isTunnelOnly && tunnel.kind === "closed") return [];
  participant.config = { ...config };
  return (["responses", "messages"] as const).flatMap((surface) => {
    const { [surface]: wanted } = config;
    const { [surface]: kept } = before;
    if (kept === undefined) delete participant.config[surface];
    else participant.config[surface] = kept;
    if (wanted === undefined || wanted === kept) return [];
    const message = `config.${surface} of ${id} stays as its agent was started. Start it again: roomhub join ${roomCode} --${surface} ${wanted}`;
    return [{ code: `${surface}_not_changed`, message }];
  });
}

type Place = Pick<
  Registration,
  "endpoint" | "baseUrl" | "endpointOrigin" | "registrant" | "isTunnelOnly" | "liveness"
>;

/** Where requests will go, and where its signs of life come from. */
function placeOf(
  context: OperationContext,
  room: Room,
  participant: Participant,
  { endpoint, transport, liveness }: UpdateParticipantRequest,
  peer: Peer,
): Place {
  const place: Place = {
    ...endpointOf(context, participant, endpoint, peer),
    isTunnelOnly: transport === undefined ? participant.isTunnelOnly : transport === "tunnel",
    liveness: liveness === undefined ? participant.liveness : (liveness ?? undefined),
  };
  if ([endpoint, transport, liveness].some((field) => field !== undefined)) {
    checkProbing(context, room, { ...participant, ...place });
  }
  return place;
}

function endpointOf(
  context: OperationContext,
  participant: Participant,
  endpoint: string | undefined,
  peer: Peer,
): Omit<Place, "isTunnelOnly" | "liveness"> {
  if (endpoint === undefined) {
    const { endpoint: kept, baseUrl, endpointOrigin, registrant } = participant;
    return { endpoint: kept, baseUrl, endpointOrigin, registrant };
  }
  const { baseUrl, origin } = checkedEndpoint(context, endpoint);
  // The right to dial follows from the peer that named the endpoint last.
  return { endpoint, baseUrl, endpointOrigin: origin, registrant: registrantOf(peer) };
}

function applyPlace(
  context: OperationContext,
  participant: Participant,
  { endpoint, authHeaders, liveness, config }: UpdateParticipantRequest,
  place: Place,
  modelBefore: string,
): void {
  const { endpointOrigin: originBefore, isTunnelOnly: isTunnelOnlyBefore } = participant;
  Object.assign(participant, place);
  const isSameOrigin = participant.endpointOrigin === originBefore;
  if (authHeaders !== undefined || !isSameOrigin) {
    context.vault.put(participant.key, participant.endpointOrigin, authHeaders ?? {});
  }
  const renewed = {
    credentials: authHeaders !== undefined || endpoint !== undefined,
    model: participant.model !== modelBefore,
  };
  if (renewed.credentials) renewCredentials(participant, context.nowMs());
  context.paths.renewed(participant, renewed);
  const hasMoved = endpoint !== undefined || participant.isTunnelOnly !== isTunnelOnlyBefore;
  // The model server may accept now what it refused.
  const isDoubtful = (renewed.credentials || renewed.model) && readinessOf(participant) !== "ready";
  const hasReturned = bringBack(participant, {
    authHeaders: authHeaders !== undefined || !isSameOrigin,
    instructions: config !== undefined,
  });
  if (participant.presence.returning !== undefined) return;
  if (hasMoved || isDoubtful || hasReturned)
    participant.paths.direct = context.paths.directPathOf(participant);
  if (liveness === "probe") participant.presence.lastUsedMs = context.nowMs();
  if (liveness === "probe" || (hasReturned && participant.liveness === "probe"))
    context.paths.watch(participant);
}
