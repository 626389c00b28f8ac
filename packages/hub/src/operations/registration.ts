import { checkEndpoint, type JoinRequest } from "@roomhub/protocol";
import { digestOf } from "../credentials/tokens.ts";
import { Pace } from "../domain/placement/pace.ts";
import { updateFacts } from "../domain/needs/model-facts.ts";
import { updateLimit } from "../domain/slots.ts";
import {
  capabilitiesOf,
  idleLoad,
  nothingFound,
  type Participant,
  type Registration,
} from "../domain/participant.ts";
import { modelChanged, type Room } from "../domain/room.ts";
import { HubError } from "../errors.ts";
import type { OperationContext, Peer } from "./context.ts";
import { registrantOf } from "./ownership.ts";

/**
 * What a participant declares, with its endpoint checked. Changes nothing.
 *
 * @throws HubError `invalid_endpoint`
 */
export function registrationOf(
  context: OperationContext,
  request: JoinRequest,
  peer: Peer,
  proofs: Pick<Registration, "tokenDigest" | "clientKeyDigest" | "keyId">,
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
    declaredContext: request.context ?? undefined,
    isStandIn: request.standIn === true,
    only: request.only?.map((name) => name.toLowerCase()),
    batches: request.batches,
    registrant: registrantOf(peer),
    ...proofs,
    machineDigest:
      request.machineSecret === undefined ? undefined : digestOf(request.machineSecret),
    agentId: request.agentId,
    run: request.run,
  };
}

/** @throws HubError `invalid_endpoint` */
export function checkedEndpoint({ limits }: OperationContext, endpoint: string) {
  const checked = checkEndpoint(endpoint, limits.endpointLength);
  if (checked.ok) return checked;
  throw new HubError("invalid_endpoint", `endpoint ${checked.reason}.`, { param: "endpoint" });
}

/** An online participant that was not reached yet, and is in no room. */
export function newParticipant(
  { limits, world, nowMs, wallMs }: OperationContext,
  room: Room,
  registration: Registration,
): Participant {
  const participant: Participant = {
    ...registration,
    roomCode: room.code,
    key: world.randomUUID(),
    learned: {
      ...nothingFound(),
      capabilities: capabilitiesOf(registration.declaredCapabilities, {}),
      credentials: { haveWorked: false, trial: undefined },
      pace: new Pace(),
      rarePaces: new Map(),
    },
    paths: {
      tunnel: { kind: "closed" },
      tunnelProblem: undefined,
      direct: { kind: "untried" },
      lastContactAt: null,
      lastContactMs: 0,
      ownerAddress: undefined,
    },
    load: idleLoad(),
    presence: {
      status: "online",
      returning: undefined,
      joinedAt: wallMs(),
      joinedMs: nowMs(),
      lastSeenMs: nowMs(),
      lastSeenAt: wallMs(),
      lastUsedMs: nowMs(),
    },
  };
  updateLimit(participant, limits);
  updateFacts(participant);
  return participant;
}

/**
 * Called after a change of its declaration or endpoint: another endpoint is another model server. With a tunnel, the
 * agent's reports stay valid.
 */
export function refreshCapabilities(
  room: Room,
  participant: Participant,
  baseUrlBefore: string,
): void {
  const hasMoved =
    participant.baseUrl !== baseUrlBefore && participant.paths.tunnel.kind === "closed";
  if (hasMoved) {
    Object.assign(participant.learned, nothingFound());
    modelChanged(room, participant);
  }
  participant.learned.capabilities = capabilitiesOf(
    participant.declaredCapabilities,
    participant.learned.found,
  );
  updateFacts(participant);
}
