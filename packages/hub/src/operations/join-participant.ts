import { checkEndpoint, isSameModel, type JoinRequest, type Warning } from "@roomhub/protocol";
import { mintToken } from "../credentials/tokens.ts";
import { nothingReported, updateLimit } from "../domain/concurrency.ts";
import { capabilitiesOf, type Participant, type Registration } from "../domain/participant.ts";
import { renewCredentials } from "../domain/readiness.ts";
import { Pace } from "../domain/pace.ts";
import { modelChanged, type Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext, Peer } from "./context.ts";
import { isLive, proofOf, type Proof, registrantOf } from "./ownership.ts";
import { announceUpdate, recordLife, removeParticipant } from "./presence.ts";
import { checkProbing } from "./probed-participants.ts";
import { participantView } from "../domain/views.ts";
import { checkRoomPassword } from "./room-password.ts";
import { pathWarnings } from "./path-warnings.ts";

export interface JoinOutcome {
  participant: Participant;
  room: Room;
  isNew: boolean;
  /** present exactly when one was minted */
  token: string | undefined;
  warnings: Warning[];
}

/**
 * Interface §4, `POST …/join`, and `PUT` of an unknown id. Contract §1 "Joining precisely" and §3 "Ownership".
 *
 * Waits at most a second for the first probe of a direct endpoint.
 *
 * @throws HubError `room_not_found`, `invalid_password`, `too_many_attempts`, `participant_id_taken`,
 * `participant_token_invalid`, `participant_id_conflicts`, `participant_limit_reached`
 */
export async function joinParticipant(
  context: OperationContext,
  code: string,
  request: JoinRequest,
  peer: Peer,
): Promise<JoinOutcome> {
  const asked = context.registry.room(code);
  const known = asked.participants.get(request.id);
  const isResume = known !== undefined && proofOf(context.ownership, known, peer) === "token";
  if (!isResume) await checkRoomPassword(context, asked, request.password ?? undefined, peer);
  // Looked up again: the password check may have taken a while, and an unused room may be dropped meanwhile.
  const room = context.registry.room(code);
  const existing = room.participants.get(request.id);
  const proof = existing === undefined ? undefined : proofOf(context.ownership, existing, peer);
  const conflicts = conflictWarnings(context, room, request.id, request.model);
  const outcome =
    existing !== undefined && proof !== undefined
      ? rejoin(context, room, existing, request, peer, proof)
      : join(context, room, existing, request, peer);
  room.lastUsedAt = context.wallMs();
  const { participant } = outcome;
  if (participant.direct.kind === "untried" && participant.tunnel.kind === "closed") {
    await context.paths.probe(participant);
  }
  return { ...outcome, room, warnings: [...conflicts, ...pathWarnings(participant)] };
}

type Joined = Pick<JoinOutcome, "participant" | "isNew" | "token">;

function join(
  context: OperationContext,
  room: Room,
  existing: Participant | undefined,
  request: JoinRequest,
  peer: Peer,
): Joined {
  const { token, digest } = mintToken();
  // Before anything is removed, since it may refuse.
  const registration = registrationOf(context, request, peer, digest);
  checkProbing(context, room, registration);
  if (existing !== undefined) {
    if (isLive(existing)) {
      throw new HubError(
        "participant_id_taken",
        `Another participant has joined room ${room.code} as ${existing.id}.`,
        {
          param: "id",
          hint: "Choose another id, or wait until it is offline.",
        },
      );
    }
    removeParticipant(context, existing, { tunnel: "replaced" });
  }
  makeSpace(context, room);
  const participant: Participant = {
    ...registration,
    roomCode: room.code,
    key: context.newUuid(),
    learnedCapabilities: {},
    refusesStreamUsage: false,
    reportsUsageItself: false,
    credentials: { haveWorked: false, trial: undefined },
    capabilities: capabilitiesOf({ ...registration, learnedCapabilities: {} }),
    status: "online",
    tunnel: { kind: "closed" },
    tunnelProblem: undefined,
    direct: { kind: "untried" },
    joinedAt: context.wallMs(),
    lastSeenMs: context.nowMs(),
    lastSeenAt: context.wallMs(),
    lastContactAt: null,
    lastContactMs: 0,
    lastUsedMs: context.nowMs(),
    active: 0,
    startedMs: [],
    queued: 0,
    awaited: 0,
    pace: new Pace(),
    reported: nothingReported,
    limit: context.limits.inFlightPerParticipant,
    limitFrom: "default",
  };
  updateLimit(participant, context.limits.inFlightPerParticipant);
  participant.direct = context.paths.directPathOf(participant);
  context.vault.put(participant.key, participant.endpointOrigin, request.authHeaders ?? {});
  context.registry.add(room, participant);
  context.liveness.watch(participant);
  if (participant.liveness === "probe") context.paths.watch(participant);
  context.emit.participantJoined(room.code, participantView(participant, context.nowMs()));
  context.routingChanged(room.code);
  return { participant, isNew: true, token: token.reveal() };
}

function rejoin(
  context: OperationContext,
  room: Room,
  participant: Participant,
  request: JoinRequest,
  peer: Peer,
  proof: Proof,
): Joined {
  const keepsToken = proof === "token";
  const minted = keepsToken ? undefined : mintToken();
  const { endpointOrigin: originBefore, baseUrl: baseUrlBefore, model: modelBefore } = participant;
  const digest = minted?.digest ?? participant.tokenDigest;
  const registration = registrationOf(context, request, peer, digest);
  checkProbing(context, room, registration);
  Object.assign(participant, registration);
  if (participant.model !== modelBefore) modelChanged(room, participant);
  participant.direct = context.paths.directPathOf(participant);
  renewCredentials(participant, context.nowMs());
  // Bound to token and endpoint origin: a change of either drops them unless sent again. Contract §3.
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
  refreshCapabilities(participant, baseUrlBefore);
  updateLimit(participant, context.limits.inFlightPerParticipant);
  const wasOffline = participant.status === "offline";
  participant.lastUsedMs = context.nowMs();
  recordLife(context, participant);
  if (!wasOffline) announceUpdate(context, participant);
  context.paths.settingsChanged(participant);
  return { participant, isNew: false, token: minted?.token.reveal() };
}

function registrationOf(
  context: OperationContext,
  request: JoinRequest,
  peer: Peer,
  tokenDigest: Uint8Array,
): Registration {
  const endpoint = checkedEndpoint(context, request.endpoint);
  return {
    id: request.id,
    nickname: request.nickname,
    model: request.model,
    endpoint: request.endpoint,
    baseUrl: endpoint.baseUrl,
    endpointOrigin: endpoint.origin,
    specs: request.specs ?? {},
    config: request.config ?? {},
    declaredCapabilities: request.capabilities ?? {},
    isTunnelOnly: request.transport === "tunnel",
    liveness: request.liveness ?? undefined,
    registrant: registrantOf(peer),
    tokenDigest,
  };
}

/** @throws HubError `invalid_endpoint` */
export function checkedEndpoint({ limits }: OperationContext, endpoint: string) {
  const checked = checkEndpoint(endpoint, limits.endpointLength);
  if (checked.ok) return checked;
  throw new HubError("invalid_endpoint", `endpoint ${checked.reason}.`, { param: "endpoint" });
}

/**
 * After a change of what it declares, or of its endpoint: another endpoint is another model server. What its agent
 * reported holds while the tunnel is open.
 */
export function refreshCapabilities(participant: Participant, baseUrlBefore: string): void {
  const hasMoved = participant.baseUrl !== baseUrlBefore && participant.tunnel.kind !== "open";
  if (hasMoved) {
    participant.learnedCapabilities = {};
    participant.refusesStreamUsage = false;
    participant.reportsUsageItself = false;
    participant.reported = nothingReported;
    participant.pace = new Pace();
  }
  participant.capabilities = capabilitiesOf(participant);
}

/** Contract §6: a full room evicts its longest offline participant. */
function makeSpace(context: OperationContext, room: Room): void {
  const { registry, limits } = context;
  const isRoomFull = room.participants.size >= limits.participantsPerRoom;
  if (!isRoomFull && registry.participantCount < limits.participantsPerHub) return;
  const evictable = [...room.participants.values()]
    .filter((one) => !isLive(one))
    .sort((one, other) => one.lastSeenMs - other.lastSeenMs)[0];
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
 * An id that is another's model captures its requests: said aloud, refused only in `strict`. Contract §3. Compared as the
 * selector compares, or a `:latest` tag would get by.
 */
export function conflictWarnings(
  context: OperationContext,
  room: Room,
  id: string,
  model: string,
): Warning[] {
  const others = [...room.participants.values()].filter((one) => one.id !== id);
  const other = others.find((one) => isSameModel(one.model, id) || isSameModel(one.id, model));
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
