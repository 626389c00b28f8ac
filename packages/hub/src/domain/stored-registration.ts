import type { Participant, Registration, Withheld } from "./participant.ts";

/**
 * What outlives the hub that a participant joined: enough to list it and to recognise its token, without secrets.
 * `config` has no `instructions`.
 */
export interface StoredRegistration extends Omit<Registration, "machineDigest"> {
  roomCode: string;
  has: Withheld;
  /** the computer on which its `registrant` address and its endpoint have their meaning */
  computer: string;
  ownerAddress: string | undefined;
  /** epoch ms */
  joinedAt: number;
  /** epoch ms; while a participant is online, this is at most an hour ago */
  storedAt: number;
}

/** How a participant is stored now. */
export function storedRegistrationOf(
  participant: Participant,
  { hasAuthHeaders, computer, storedAt }: StoredFacts,
): StoredRegistration {
  const { machineDigest, registrant, paths, presence } = participant;
  const { instructions, ...config } = participant.config;
  const { returning } = presence;
  // Each field is named, so that no new secret gets into the directory unnoticed.
  return {
    roomCode: participant.roomCode,
    id: participant.id,
    nickname: participant.nickname,
    model: participant.model,
    endpoint: participant.endpoint,
    baseUrl: participant.baseUrl,
    endpointOrigin: participant.endpointOrigin,
    specs: participant.specs,
    config,
    declaredCapabilities: participant.declaredCapabilities,
    isTunnelOnly: participant.isTunnelOnly,
    liveness: participant.liveness,
    declaredContext: participant.declaredContext,
    isStandIn: participant.isStandIn,
    only: participant.only,
    batches: participant.batches,
    tokenDigest: participant.tokenDigest,
    clientKeyDigest: participant.clientKeyDigest,
    agentId: participant.agentId,
    run: participant.run,
    keyId: participant.keyId,
    registrant: { ...registrant, computer: undefined },
    has: {
      authHeaders: hasAuthHeaders || returning?.authHeaders === true,
      instructions: instructions !== undefined || returning?.instructions === true,
      machineSecret: machineDigest !== undefined || returning?.machineSecret === true,
    },
    computer: registrant.computer ?? computer,
    ownerAddress: paths.ownerAddress,
    joinedAt: presence.joinedAt,
    storedAt,
  };
}

interface StoredFacts {
  hasAuthHeaders: boolean;
  /** this one */
  computer: string;
  /** epoch ms */
  storedAt: number;
}
